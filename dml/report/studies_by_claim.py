"""Which studies of a folder test which claims of the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dml.config import content_of
from dml.files import study_files


def studies_by_claim(folder: Path | None) -> Mapping[str, Sequence[str]]:
    """The names of the studies that test each claim, by its id; nothing without a folder.

    Only the studies' files are read. One that cannot be read is left out: running it says what is wrong.
    """
    found: dict[str, list[str]] = {}
    for path in study_files(folder) if folder is not None else ():
        try:
            content = content_of(path)
        except (ValueError, OSError):
            continue
        for claim in content.get("claims") or ():
            name = claim.get("claim") if isinstance(claim, Mapping) else None
            if name and path.stem not in found.setdefault(name, []):
                found[name].append(path.stem)
    return found
