"""Random generators, each from a seed and a purpose: `dml` uses no global random state.

Purposes have separate streams. For example, adding an augmentation does not change which batches are drawn.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def derive(seed: int, purpose: str) -> int:
    """A 63-bit seed. The same seed and purpose always give the same result."""
    digest = hashlib.sha256(f"{int(seed)}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, purpose: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A torch generator on `device` for one purpose, such as `"batches"`, `"miner"` or `"init"`."""
    import torch

    return torch.Generator(device=device).manual_seed(derive(seed, purpose))


def numpy_generator(seed: int, purpose: str) -> np.random.Generator:
    """A NumPy generator for one purpose."""
    return np.random.default_rng(derive(seed, purpose))
