"""What a trial's worker is told, and where the driver of a trial that several workers share meets them.

The meeting is a process of its own, so nothing here imports torch or Ray.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dml.sweep.store.trials import Outcome, TrialStore

Advanced = tuple[list[Any] | None, Outcome | None]
"""The evaluation that a trial reached, as `[step, {score: value}]`, and its outcome if it ended."""


@dataclass(frozen=True)
class TrialConfig:
    """What a worker is told of a trial."""

    key: str
    record: str  # the JSON whose digest is the key
    spec: str  # as `spec_json.dump` writes it
    until: int | None  # pause at the first evaluation after so many steps
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
