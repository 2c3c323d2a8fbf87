"""Data: raw files, sources (records and roles), packing (one uint8 array), splits, batches, augmentation."""

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
