"""Which of the processes that share a trial this is. A worker imports it before it has a trial, so without torch."""

from __future__ import annotations

import sys
from typing import TypeVar

Value = TypeVar("Value")


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
