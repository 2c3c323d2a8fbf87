"""Images with the same pixels, found while they are packed."""

from __future__ import annotations

import hashlib


class Copies:
    """Groups rows whose bytes are the same."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}
        self._groups: dict[int, list[int]] = {}

    def add(self, row: int, pixels: bytes) -> None:
        """Add a row."""
        first = self._first.setdefault(hashlib.blake2b(pixels, digest_size=16).digest(), row)
        if first != row:
            self._groups.setdefault(first, [first]).append(row)

    @property
    def groups(self) -> list[list[int]]:
        """The rows of each image that occurs more than once, ascending."""
        return list(self._groups.values())
