"""One trial on several devices: a `Training` in each of several processes, with the interface of a single one."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from dml import discovery
from dml.training.loop import Training
from dml.types import EvaluationPoint, TrialResult, TrialSpec

START_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
"""A fork server imports the modules of a trial once, so the processes of later trials start without delay."""


class DistributedTraining:
    """A `Training` in each of `spec.training.devices` processes of this machine.

    Parameters
    ----------
    spec, data_root, folder, checkpoint_seconds : as for `Training`.
    device : `"cpu"` or `"cuda"`; process r uses device r.

    Raises
    ------
    RuntimeError : a process failed; the message contains its traceback.
    """

    def __init__(
        self, spec: TrialSpec, data_root: Path, folder: Path, device: str = "cpu", checkpoint_seconds: float = 30.0
    ):
        size = spec.training.devices
        context: Any = mp.get_context(START_METHOD)
        if START_METHOD == "forkserver":
            context.set_forkserver_preload(_modules())
        self._pipes: list[Connection] = []
        self._processes = []
        port = _free_port()
        for rank in range(size):
            ours, theirs = context.Pipe()
            arguments = (rank, size, port, theirs, (spec, data_root, folder), str(device), checkpoint_seconds)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        try:
            self.step, self.total_steps, self.finished = self._ask("state")
        except BaseException:
            self.close()  # the caller has no object to close
            raise

    def advance(self) -> EvaluationPoint:
        """Train all processes to the next evaluation; the first one evaluates and saves."""
        point = self._ask("advance")
        self.step, self.total_steps, self.finished = self._ask("state")
        return point

    def result(self) -> TrialResult:
        """The scores and diagnostics after the last evaluation."""
        return self._ask("result")

    def discard_checkpoint(self) -> None:
        """Delete the checkpoints that the study does not keep."""
        self._ask("discard_checkpoint")

    def close(self) -> None:
        """Stop the processes."""
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.close()
            process.join(timeout=5)
            if process.is_alive():
                process.kill()

    def _ask(self, command: str) -> Any:
        """Send a command to all processes. Returns the first one's answer."""
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


def _serve(
    rank: int,
    size: int,
    port: int,
    pipe: Connection,
    trial: tuple[TrialSpec, Path, Path],
    device: str,
    checkpoint_seconds: float,
) -> None:
    """One process of a distributed trial: obey commands until the pipe closes."""
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
                    training = Training(*trial, f"cuda:{rank}" if cuda else "cpu", checkpoint_seconds)
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


def _modules() -> list[str]:
    """The modules that a trial imports: this one, every part, and what torch's optimisers import on first use."""
    parts = [f"{package}.{name}" for package in discovery.KINDS for name in discovery.modules(package)]
    return [__name__, *parts, "torch._dynamo"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
