"""One trial on several devices: each embeds its share of the batch, and every one computes the loss of the whole batch.

The embeddings are gathered with their gradients, so N processes give the loss, and the gradients, of one process on
the whole batch (batch norm sees the whole batch on GPUs, where it is synchronised, and each process's share
on CPUs, where torch has no synchronised batch norm).
"""

from __future__ import annotations

import os
import socket
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

from dml.types import Progress, TrialResult, TrialSpec


def rank_and_size() -> tuple[int, int]:
    """This process's place among those that share a trial: `(0, 1)` where it is alone."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


class _Gather(torch.autograd.Function):
    """(B / W, D) on each of W ranks -> (B, D) on all, in the order of ranks."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, part.contiguous())
        ctx.rows = part.shape[0]
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        # Each rank holds the whole loss, so its own rows of the gradient are complete; data-parallel training will
        # divide by W, which this undoes.
        rank, size = rank_and_size()
        return gradient[rank * ctx.rows : (rank + 1) * ctx.rows] * size


def gather(embeddings: Tensor) -> Tensor:
    """Embeddings (B, D) of the whole batch, with gradients, from each process's share; unchanged where it is alone."""
    return _Gather.apply(embeddings) if rank_and_size()[1] > 1 else embeddings


def parallel(model: nn.Module, device: torch.device) -> nn.Module:
    """`model` with its gradients averaged over the processes that share the trial."""
    if rank_and_size()[1] == 1:
        return model
    if device.type == "cuda":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    return nn.parallel.DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)


def average_gradients(loss: nn.Module) -> None:
    """Give the loss's own parameters the same gradients on all processes.

    Each has computed the whole of them; on GPUs sums differ in their last bits, and proxies would drift apart.
    """
    size = rank_and_size()[1]
    if size > 1:
        for parameter in loss.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= size


class DistributedTraining:
    """A `Training` spread over `spec.training["devices"]` processes of this machine, with the same interface.

    Parameters
    ----------
    spec, data_root, folder, checkpoint_seconds : as for `Training`.
    device : `"cpu"` or `"cuda"`; process r takes device r.

    Raises
    ------
    RuntimeError : a process failed; the message carries its traceback.
    """

    def __init__(
        self, spec: TrialSpec, data_root: Path, folder: Path, device: str = "cpu", checkpoint_seconds: float = 30.0
    ):
        size = spec.training["devices"]
        context = mp.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        port = _free_port()
        for rank in range(size):
            ours, theirs = context.Pipe()
            arguments = (rank, size, port, theirs, spec, data_root, folder, str(device), checkpoint_seconds)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        try:
            self.step, self.total_steps, self.finished = self._ask("state")
        except BaseException:
            self.close()  # nobody else can: the caller has no object
            raise

    def advance(self) -> Progress:
        """Train all processes to the next evaluation; the first one evaluates and saves."""
        progress = self._ask("advance")
        self.step, self.total_steps, self.finished = self._ask("state")
        return progress

    def result(self) -> TrialResult:
        """What a finished trial leaves."""
        return self._ask("result")

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint, once the result is recorded."""
        self._ask("discard_checkpoint")

    def close(self) -> None:
        """End the processes."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.join(timeout=5)
            if process.is_alive():
                process.kill()

    def _ask(self, command: str) -> Any:
        """Send a command to all processes; the first one's answer."""
        try:
            for pipe in self._pipes:
                pipe.send(command)
            answers = [pipe.recv() for pipe in self._pipes]
        except (EOFError, OSError) as error:
            raise RuntimeError("a process of the distributed trial died") from error
        for kind, answer in answers:
            if kind == "error":
                raise RuntimeError(answer)
        return answers[0][1]


def _serve(rank: int, size: int, port: int, pipe: Connection, *arguments: Any) -> None:
    """One process of a distributed trial: obey commands until the pipe closes."""
    from dml.training.loop import Training  # here, since the loop imports this module

    spec, data_root, folder, device, checkpoint_seconds = arguments
    cuda = device.startswith("cuda")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    if cuda:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=size)
    training = None
    try:
        while True:
            command = pipe.recv()
            try:
                if training is None:
                    own_device = f"cuda:{rank}" if cuda else "cpu"
                    training = Training(spec, data_root, folder, own_device, checkpoint_seconds)
                if command == "state":
                    answer: Any = (training.step, training.total_steps, training.finished)
                elif rank == 0 or command == "advance":
                    answer = getattr(training, command)()
                else:
                    answer = None
                pipe.send(("answer", answer))
            except Exception:
                pipe.send(("error", traceback.format_exc()))
    except (EOFError, OSError):
        dist.destroy_process_group()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
