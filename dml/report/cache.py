"""Keeps arrays that take long to compute, so that building the report again is fast."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dml import files


def kept(folder: Path | None, compute: Callable[[], np.ndarray], what: str, *inputs: np.ndarray) -> np.ndarray:
    """What `compute` returns, from `folder` if it has been computed before.

    The file's name is a digest of `what` and `inputs`, so nothing in the folder is ever out of date, and all of it can
    be deleted.

    Parameters
    ----------
    folder : None: nothing is kept.
    what : the name and version of the computation and all of its settings.
    inputs : all arrays that it depends on.
    """
    if folder is None:
        return compute()
    digest = hashlib.sha256(what.encode())
    for array in inputs:
        digest.update(f"/{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    path = folder / f"{digest.hexdigest()[:24]}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError):  # missing or broken
        found = compute()
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        np.save(file, found)
    return found
