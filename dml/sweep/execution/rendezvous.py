"""What a trial's worker is told, and where the driver of a trial that several workers share meets them.

Ray removes a placement group with its job, not with the actor that made it. So each worker's bundle is marked with some
bytes of memory, by sweep and driver, and the sweep removes the groups of a driver that died, and all at its end.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dml.sweep.store.trials import Outcome, TrialStore
from dml.types import TrialSpec

Advanced = tuple[list[Any] | None, Outcome | None]
"""The evaluation that a trial reached, as `[step, {score: value}]`, and its outcome if it ended."""


@dataclass(frozen=True)
class TrialConfig:
    """What a worker is told of a trial."""

    key: str
    record: str  # the JSON whose digest is the key
    spec: TrialSpec
    data_root: str
    store: str
    storage: str | None
    trainer: str  # the dotted path of a `TrainerFactory`
    device: str
    path: tuple[str, ...]  # where Python finds a user's own parts and trainers

    def open_store(self) -> TrialStore:
        """The store of trials."""
        return TrialStore(Path(self.store), self.storage)


class WorkersDied(RuntimeError):
    """Workers of a trial died, or lost each other. The trial can resume from its checkpoint."""


class RankError(RuntimeError):
    """A rank raised an error. `text` is its traceback, `errno` that of an OSError, else 0."""

    def __init__(self, text: str, errno: int):
        super().__init__(text)
        self.text, self.errno = text, errno


@dataclass(frozen=True)
class Failure:
    """The first error on any rank."""

    rank: int
    text: str  # the traceback
    errno: int
    resumes: bool  # whether the trial can resume, since the error is not the trial's own


class Rendezvous:
    """Where the driver of a trial and its ranks exchange commands and answers. Commands are numbered from 0."""

    def __init__(self) -> None:
        self._commands: list[tuple[str, TrialConfig | None]] = []
        self._answers: dict[int, Advanced] = {}
        self._failure: Failure | None = None
        self._changed = asyncio.Condition()

    async def post(self, command: str, config: TrialConfig | None) -> int:
        """Give all ranks a command. Returns its number."""
        async with self._changed:
            self._commands.append((command, config))
            self._changed.notify_all()
        return len(self._commands) - 1

    async def command(self, number: int) -> tuple[str, TrialConfig | None]:
        """The command of this number; waits for it."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._commands) > number)
        return self._commands[number]

    async def answer(self, number: int, answer: Advanced) -> None:
        """The first rank's answer to a command."""
        async with self._changed:
            self._answers[number] = answer
            self._changed.notify_all()

    async def fail(self, failure: Failure) -> None:
        """Note an error. Only the first one counts: those after it may be its effects."""
        async with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    async def outcome(self, number: int) -> Advanced | Failure:
        """The answer to a command, or the failure; waits for either."""
        async with self._changed:
            await self._changed.wait_for(lambda: number in self._answers or self._failure is not None)
        return self._failure or self._answers.pop(number)


MEMORY = "memory"  # Ray's name
DRIVERS = 4096  # marks of drivers
SWEEPS = 4096  # marks of sweeps, each of so many bytes


def of_sweep(worker: Mapping[str, float], sweep: str) -> dict[str, float]:
    """What each worker takes, with the mark of a sweep: at most 16 MiB of memory more."""
    return _more(worker, DRIVERS * _hash(sweep, SWEEPS))


def marked(worker: Mapping[str, float], driver: str) -> dict[str, float]:
    """What each worker takes, with the mark of a driver (the actor's id) too; `worker` has the sweep's."""
    return _more(worker, 1 + _hash(driver, DRIVERS - 1))


def free(worker: Mapping[str, float], drivers: Collection[str] | None = None) -> int:
    """Remove the placement groups of dead drivers, or of all drivers of the sweep. Returns how many."""
    import ray
    from ray.util.placement_group import PlacementGroup, placement_group_table, remove_placement_group

    first = worker.get(MEMORY, 0)
    marks = None if drivers is None else {marked(worker, driver)[MEMORY] - first for driver in drivers}

    def is_ours(mark: float) -> bool:
        return 0 < mark < DRIVERS if marks is None else mark in marks

    taken = [
        PlacementGroup(ray.PlacementGroupID(bytes.fromhex(name)))
        for name, group in placement_group_table().items()
        if group["state"] != "REMOVED"
        and any(is_ours(bundle.get(MEMORY, 0) - first) for bundle in group["bundles"].values())
    ]
    for group in taken:
        remove_placement_group(group)
    return len(taken)


def _more(worker: Mapping[str, float], memory: int) -> dict[str, float]:
    return {**{name: n for name, n in worker.items() if n}, MEMORY: worker.get(MEMORY, 0) + memory}


def _hash(text: str, count: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) % count
