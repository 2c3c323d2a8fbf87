"""Data, from raw files to batches.

| package | in -> out |
|---|---|
| `raw` | URLs and mirrors -> verified, unpacked raw files |
| `sources/<name>.py` | one dataset's raw files -> records (an image and its labels), and each image's role |
| `packing` | records -> one uint8 array, decoded once, that every process maps |
| `splits` | roles -> which images train, validate and test |
| `class_splits` | the same for several choices of the classes that test |
| `batches/<name>.py` | observed labels -> positions of each batch |
| `augment/<name>.py` | uint8 batches -> normalised float32 batches |
"""

from __future__ import annotations

import importlib
from typing import Any

from dml.files import DataError

__all__ = ["DataError"]

PACKAGES = ("augment", "batches", "packing", "raw", "sources", "splits")


def __getattr__(name: str) -> Any:
    """`import dml` is enough for `dml.data.sources`: a package is imported on first use."""
    if name in PACKAGES:
        return importlib.import_module(f"dml.data.{name}")
    raise AttributeError(f"module 'dml.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PACKAGES})
