"""The process of a trial: its rank, its memory, and the errors that end it. Importing this does not import torch."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from dml.types import TrialSpec

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameter numbers of mallopt, from malloc.h
KEPT = 2**30  # bytes of free memory that stay at the end of the heap
LARGEST = (2**30, 2**25)  # bytes of the largest array on the heap: the value we want, and the limit of older glibc


def keep_freed_memory() -> bool:
    """Let this process keep up to 1 GiB of freed memory. Returns False if the C library cannot (only glibc can)."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(TRIM_THRESHOLD, KEPT)) and any(mallopt(MMAP_THRESHOLD, size) for size in LARGEST)


Value = TypeVar("Value")


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Let torch compute on so many threads in a block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rank_and_size() -> tuple[int, int]:
    """This process's rank and the number of processes that share the trial: `(0, 1)` without distributed training."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def from_first(value: Value) -> Value:
    """The first process's value, which can be pickled, in all of them."""
    if rank_and_size()[1] == 1:
        return value
    import torch.distributed as dist

    values = [value]
    dist.broadcast_object_list(values, 0)
    return values[0]


def wait_for_all() -> None:
    """Wait until all processes are here."""
    if rank_and_size()[1] > 1:
        import torch.distributed as dist

        dist.barrier()


class TrainingError(RuntimeError):
    """A failure that is the trial's result, because it would recur: for example, a loss that is not finite."""


class UnusableCheckpoint(ValueError):
    """A checkpoint that this trial cannot resume from: damaged, or written by other code. `path` is the file."""

    def __init__(self, path: Path, reason: Exception):
        super().__init__(f"{path}: cannot resume from this checkpoint: {type(reason).__name__}: {reason}")
        self.path = path


def not_finite(what: str, when: str, spec: TrialSpec) -> TrainingError:
    """The error of a trial in which `what` became infinite or NaN; `when` is such as `"at step 7"`."""
    steps, rate = spec.training.steps, spec.training.learning_rate
    settings = f"loss {spec.loss.name!r}, learning rate {rate:g}"
    return TrainingError(f"{what} became infinite or NaN {when} of {steps} ({settings})")
