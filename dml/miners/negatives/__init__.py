"""Negative policies: which samples of other classes become an anchor's negatives. One policy a file."""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.protocols import NegativePolicy


def build(name: str, /, **settings: Any) -> NegativePolicy:
    """A policy by its name, such as `build("hard")`, or by a dotted path. `dml.miners.build` combines two policies.

    Raises ValueError: an unknown name or setting, or an invalid value.
    """
    return discovery.build("dml.miners.negatives", name, **settings)


__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
