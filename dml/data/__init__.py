"""Data: raw files -> packed images -> splits -> batches. A dataset is one file in `dml/data/sources/`."""

from __future__ import annotations

from typing import Any

from dml import discovery


class DataError(ValueError):
    """Data that cannot be used as it is: said in one message, with the file and what to do."""


def build(name: str, **options: Any) -> Any:
    """A source by its name in `dml/data/sources/` or its dotted path, such as `build("imagefolder", root="birds")`."""
    return discovery.build("dml.data.sources", name, **options)
