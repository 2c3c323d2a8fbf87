"""Noise models by name."""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.protocols import NoiseModel


def build(name: str, **settings: Any) -> NoiseModel:
    """A noise model from its name, its `rate` (0 <= rate < 1) and its own settings.

    Raises
    ------
    ValueError : an unknown name or setting, or a value out of range.
    """
    return discovery.build("dml.noise", name, **settings)
