"""Datasets, one per file: where the archives are, what they contain, and the roles that papers give to the images."""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.discovery import check_class, check_object
from dml.protocols import LeavesOut, Source

PACKAGE = "dml.data.sources"


def build(name: str, **options: Any) -> Source:
    """A source by its name, such as `build("imagefolder", root="birds")`, or by a dotted path.

    Raises ValueError: an unknown name or option, or a class that lacks members of `dml.protocols.Source`.
    """
    find(name)
    source = discovery.build(PACKAGE, name, **options)
    check_object(source, Source, f"source {name!r}")
    return source


def left_out(source: Source) -> str:
    """What to tell the user of files that a source does not read; "" if there are none."""
    return source.left_out() if isinstance(source, LeavesOut) else ""


def find(name: str) -> type[Source]:
    """The class of a source by its name or dotted path, without constructing it. Raises as `build` does."""
    source = discovery.find(PACKAGE, name)
    check_class(source, Source, f"source {name!r}")
    return source


__all__ = ["build", "find", "left_out"]

__getattr__, __dir__ = discovery.lazy(__name__)
