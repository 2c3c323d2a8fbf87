"""Keeps what takes long to compute, arrays and pages with their files, so that building the report again is fast."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from dml import files

Value = TypeVar("Value")
VALUE = "value.pickle"


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


def is_made(folder: Path | None, digest: str) -> bool:
    """Whether `made` has kept something made from inputs of this digest."""
    return folder is not None and (folder / digest / VALUE).is_file()


def made(folder: Path | None, digest: str, root: Path, make: Callable[[Path], Value]) -> Value:
    """What `make` returns, its files copied below `root`; both from `folder` if they are kept there.

    Parameters
    ----------
    folder : None: nothing is kept. Else only the last digest is.
    make : called with the folder for its files.
    """
    if folder is None:
        return make(root)
    own = folder / digest
    if not is_made(folder, digest):
        shutil.rmtree(folder, ignore_errors=True)
        (own / "files").mkdir(parents=True)
        value = make(own / "files")
        with files.replacing(own / VALUE) as temporary:  # last: without it, nothing is kept
            temporary.write_bytes(pickle.dumps(value))
    shutil.copytree(own / "files", root, dirs_exist_ok=True)
    return pickle.loads((own / VALUE).read_bytes())
