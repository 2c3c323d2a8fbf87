"""How long a sweep still takes, from the trials that ended and from how far the running ones are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


class Remaining:
    """Estimates the seconds that are left.

    Parameters
    ----------
    now : a clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._took: list[float] = []  # seconds of the trials that ended
        self._begun: dict[str, float] = {}  # trial -> when it was first heard of
        self._first: dict[str, tuple[float, float]] = {}  # trial -> (share done, time) at its first evaluation
        self._last: dict[str, tuple[float, float]] = {}  # the same when it was last heard of

    def evaluated(self, trial: str, share: float) -> None:
        """Note how much of a running trial is done, from 0 to 1."""
        self._last[trial] = (share, self._now())
        self._first.setdefault(trial, self._last[trial])
        self._begun.setdefault(trial, self._now())

    def ended(self, trial: str, seconds: float | None, since: float = 0.0) -> None:
        """Note that a trial ended.

        Parameters
        ----------
        seconds : of its training; None: it was not run now, so its time says nothing.
        since : seconds since its worker began with it. Before the training it reads models and fits starts. Before
            that it may have waited for a node, which says nothing; and the worker may be one of an earlier sweep.
        """
        begun = self._begun.pop(trial, self._now())
        self._first.pop(trial, None)
        self._last.pop(trial, None)
        if seconds is not None:
            self._took.append(max(seconds, min(since, self._now() - begun)))

    def seconds(self, trials: int, running: Sequence[str], slots: int) -> float | None:
        """The seconds until `trials` trials have ended, of which `running` run; None before a trial's time is known.

        Parameters
        ----------
        slots : trials that run at the same time.
        """
        now = self._now()
        for trial in running:
            self._begun.setdefault(trial, now)
        heard = [self._last.setdefault(trial, (0.0, now)) for trial in running]
        each = self._each()
        if each is None:
            return None
        done = sum(min(1.0, share + (now - since) / max(each, 1e-9)) for share, since in heard)
        return each * max(0.0, trials - done) / max(1, min(slots, trials))

    def _each(self) -> float | None:
        """Seconds that a trial takes: the mean of those that ended, else by the pace between two evaluations."""
        took = self._took or [
            (end - start) / (last - first)
            for trial, (first, start) in list(self._first.items())
            for last, end in [self._last.get(trial, (first, start))]
            if last > first
        ]
        return sum(took) / len(took) if took else None
