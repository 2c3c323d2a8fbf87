"""The samples of each class on disk, from labels that come in parts: a counting sort that holds one part at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from dml import files


class StoredMembers:
    """Positions by class, as `write_members` left them: for `ClassBatches.stored`.

    Attributes
    ----------
    names : int64 (K,), the class labels, ascending.
    starts : int64 (K + 1,), where each class begins in `members`.
    members : int64 (n,), positions by class, then ascending; mapped.
    digest : of the labels, as a sampler's state states it.
    """

    def __init__(self, folder: Path) -> None:
        self.members = np.asarray(np.load(folder / "members.npy", mmap_mode="r"))
        self.names, self.starts = np.load(folder / "names.npy"), np.load(folder / "starts.npy")
        self.digest = (folder / "digest").read_text(encoding="utf-8")


def write_members(parts: Callable[[], Iterable[np.ndarray]], folder: Path) -> StoredMembers:
    """Sort positions by label into files in `folder`. Memory: one part, and 32 bytes a class.

    Parameters
    ----------
    parts : gives the labels, integers from 0 (-1: left out) in consecutive parts; called twice.

    Raises
    ------
    ValueError : labels below -1, or none that is used.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts, digest = np.zeros(0, dtype=np.int64), hashlib.sha256()
    for part in parts():
        labels = np.asarray(part, dtype=np.int64)
        digest.update(labels.tobytes())
        if len(labels) and labels.min() < -1:
            raise ValueError(f"batches: expected labels from 0 (-1: left out), got {labels.min()}")
        more = np.bincount(labels[labels >= 0], minlength=len(counts))
        more[: len(counts)] += counts
        counts = more
    if not counts.any():
        raise ValueError("batches: none of the labels is usable (all are -1: left out)")
    names = np.flatnonzero(counts)
    starts = np.r_[0, counts[names].cumsum()]
    next_ = np.zeros(len(counts), dtype=np.int64)
    next_[names] = starts[:-1]
    path, first = folder / "members.npy", 0
    with files.replacing(path) as temporary:
        members = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.int64, shape=(int(starts[-1]),))
        for part in parts():
            labels = np.asarray(part, dtype=np.int64)
            used = np.flatnonzero(labels >= 0)
            order = used[np.argsort(labels[used], kind="stable")]
            found, begin, number = np.unique(labels[order], return_index=True, return_counts=True)
            at = np.repeat(next_[found] - begin, number) + np.arange(len(order))
            members[at] = order + first
            next_[found] += number
            first += len(labels)
        members.flush()
        del members
    for name, array in (("names", names), ("starts", starts)):
        with files.replacing(folder / f"{name}.npy") as temporary, open(temporary, "wb") as file:
            np.save(file, array)
    files.write_text(folder / "digest", digest.hexdigest())
    return StoredMembers(folder)
