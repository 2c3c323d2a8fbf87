"""How far an audit is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


class Steps:
    """Calls the user's function with the share done, 0 to 1, and what is being done.

    Parameters
    ----------
    count : of all steps.
    """

    def __init__(self, progress: Progress | None, count: int) -> None:
        self._progress, self._count, self._done, self._text = progress, count, 0, ""

    def say(self, text: str) -> None:
        """A new piece of work begins."""
        self._text = text
        self.part(0.0)

    def step(self) -> None:
        """A step is done."""
        self._done += 1
        self.part(0.0)

    def part(self, share: float) -> None:
        """A share of the next step is done."""
        if self._progress is not None:
            self._progress(min(1.0, (self._done + share) / self._count), self._text)
