"""A trial in several processes of this machine, with torch's own launcher. It needs no Ray."""

import pickle
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from dml.training.loop import Training
from dml.types import TrialResult, TrialSpec


def train(
    spec: TrialSpec, data_root: Path, folder: Path, size: int, to: int | None = None, device: str = "cpu"
) -> tuple[TrialResult, list[dict[str, Any]]]:
    """Train in `size` processes with gloo, or NCCL on `cuda`, to the end or to the first evaluation after `to` steps.

    Returns
    -------
    The first process's result, and for each process the state of its network, loss and filter.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meeting").unlink(missing_ok=True)
    get_context("forkserver").set_forkserver_preload(
        [__name__, "dml.sweep.plan.keys", "torch._dynamo"]
    )  # imported once
    mp.start_processes(_train, (spec, data_root, folder, size, to, device), nprocs=size, start_method="forkserver")
    found = [pickle.loads((folder / f"rank-{rank}").read_bytes()) for rank in range(size)]
    return found[0][0], [state for _, state in found]


def _train(rank: int, spec: TrialSpec, data_root: Path, folder: Path, size: int, to: int | None, device: str) -> None:
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(rank)
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{folder}/meeting", rank=rank, world_size=size)
    training = Training(spec, data_root, folder, f"cuda:{rank}" if device == "cuda" else device)
    while not training.finished and training.step < (spec.training.steps if to is None else to):
        training.advance()
    result = training.result()
    parts = {"model": training.model, "loss": training.loss}
    state: dict[str, dict[str, Any]] = {}
    for name, part in parts.items():
        state[name] = {k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in part.state_dict().items()}
    if training._filtering is not None:
        state["filter"] = training._filtering.state_dict()
    training.close()
    (folder / f"rank-{rank}").write_bytes(pickle.dumps((result, state)))
    dist.destroy_process_group()
