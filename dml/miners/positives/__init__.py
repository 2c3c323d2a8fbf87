"""Positive policies: which class mates of an anchor become its positives. One policy a file."""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.protocols import PositivePolicy


def build(name: str, /, **settings: Any) -> PositivePolicy:
    """A policy by its name, such as `build("easy")`, or by a dotted path. `dml.miners.build` combines two policies.

    Raises ValueError: an unknown name or setting, or an invalid value.
    """
    return discovery.build("dml.miners.positives", name, **settings)


__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
