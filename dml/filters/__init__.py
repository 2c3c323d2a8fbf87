"""Filters: which samples of a batch take part in training. `build("prism", rate=0.2, ...)` makes one.

A filter sees a batch's embeddings and observed labels, never clean ones, and returns a mask. Samples that it leaves out
are in no tuple, in no memory, and no proxy learns from them. It has a state of its own, which a checkpoint contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml import discovery
from dml.protocols import Filter


def build(name: str, /, **settings: Any) -> Filter:
    """A filter by its name here (`"prism"`), or by a dotted path to a class of another package.

    Raises ValueError: an unknown filter, an unknown setting or an invalid value.
    """
    return discovery.build("dml.filters", name, **settings)


def build_for(
    name: str, settings: Mapping[str, Any], *, num_classes: int | None = None, embedding_size: int | None = None
) -> Filter:
    """A filter with `settings`, and those of the other values that its constructor names, unless set."""
    values = {"num_classes": num_classes, "embedding_size": embedding_size}
    offered = {key: value for key, value in values.items() if value is not None}
    part = discovery.find("dml.filters", name)
    return build(name, **{**discovery.accepted(part, offered), **settings})


__all__ = ["build", "build_for"]

__getattr__, __dir__ = discovery.lazy(__name__)
