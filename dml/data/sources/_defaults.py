"""Defaults of the members that many sources share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from dml.data.raw import Archive


class SourceDefaults:
    """One label level, nothing to fetch, nothing to check."""

    redistributable: ClassVar[bool] = False
    mirrors: ClassVar[bool] = True
    levels: ClassVar[tuple[str, ...]] = ("fine",)
    disjoint: str = "fine"
    archives: Sequence[Archive] = ()
    complete: bool = True
    counts: Mapping[str, Mapping[str, int]] = {}
    content: str | None = None
    shape: ClassVar[tuple[int, int, int] | None] = None  # height, width and channels of all its images, if known
    root: str | Path | None = None
    seeds: Sequence[int] | None = None
    file_settings: ClassVar[Sequence[str]] = ()
    own_labels: ClassVar[bool] = False

    def fingerprint(self, raw: Path) -> str | None:
        """None: all files are in the raw folder."""
        return None

    def left_out(self) -> str:
        """Empty: all files are read."""
        return ""

    def for_seed(self, seed: int) -> Self:
        """Itself: every seed has the same split."""
        return self
