"""Checksums of files."""

from __future__ import annotations

import hashlib
from pathlib import Path


def checksum(path: Path, kind: str) -> str:
    """The hexadecimal digest of a file. `kind` is `md5` or `sha256`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def mismatch(path: Path, md5: str | None, sha256: str | None) -> str | None:
    """The first expected checksum that the file fails, as `md5 <got>, expected <md5>`; None if it has them all."""
    for kind, expected in (("sha256", sha256), ("md5", md5)):
        if expected and (got := checksum(path, kind)) != expected:
            return f"{kind} {got}, expected {expected}"
    return None
