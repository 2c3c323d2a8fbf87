"""The papers of a project: the folders in its folder `papers` that have a `paper.yaml` (docs/claims.md, "A paper").

Studies whose names begin with a folder's, such as `eps-`, are the paper's: `dml run paper-eps`.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import sys
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PACKAGE = "papers"
MARK = "paper.yaml"
CLAIMS = "claims.csv"


@dataclass(frozen=True)
class Paper:
    """One paper: its folder's name and place, and what its `paper.yaml` says."""

    name: str
    folder: Path
    title: str
    year: int
    citation: str = ""
    sections: tuple[str, ...] = ()  # of the theory page, in the order of reading
    study_sections: tuple[str, ...] = ()  # of the pages of its studies, whose names begin with the paper's
    computed: str = ""  # how the numbers of these sections are made, for the head of the theory page

    @property
    def package(self) -> str:
        """Where its sections are imported from."""
        return f"{PACKAGE}.{self.name}.sections"

    def rows(self, file: str) -> list[dict[str, str]]:
        """The rows of a CSV file in its folder; none if it has no such file."""
        path = self.folder / file
        if not path.is_file():
            return []
        with path.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))


@dataclass(frozen=True)
class PaperClaim:
    """One claim of a paper. Of the file's columns, `id`, `claim` and `decided_by` are required."""

    id: str  # begins with the paper's name and a hyphen
    paper: str
    claim: str
    decided_by: str  # "theory", "cpu" or "data"
    place: str = ""
    published_effect: str = ""  # "": the paper gives no number
    needs: tuple[str, ...] = ()  # the sources that the claim is about, if only their data can decide it
    comparison: str = ""  # what would decide it
    note: str = ""
    no_study: str = ""  # why no study decides it, if networks could

    @property
    def least_sources(self) -> int:
        """On how many datasets the claim must be confirmed, as its comparison says."""
        match = re.search(r"at least (\d+) data sets", self.comparison)
        return int(match[1]) if match else 1


def papers() -> tuple[Paper, ...]:
    """The papers of the first folder `papers` on Python's path, newest first; `use_project` puts a project's first."""
    first = _papers(os.getcwd(), tuple(sys.path))
    if first:
        _import_from(first[0].folder.parent)
    return first


def use_project(root: Path) -> None:
    """Let the papers of a project, if it has any, come before all other papers.

    Folders with papers come last on Python's path: the project's other modules hide none of Python's.
    """
    place = str(root.resolve())
    if _has_papers(place):
        sys.path[:] = sorted([place, *(other for other in sys.path if other != place)], key=_has_papers)


def _has_papers(place: str) -> bool:
    return any(Path(place, PACKAGE).glob(f"*/{MARK}"))


def _import_from(folder: Path) -> None:
    """Let `import papers` find this folder, also where another project's was imported before."""
    if not _is(folder, sys.modules.get(PACKAGE)):
        for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
            del sys.modules[name]
    spec = importlib.util.find_spec(PACKAGE)
    if not _is(folder, spec):
        raise ValueError(
            f"{folder} cannot be imported: {spec and spec.origin} has the same name and comes first in sys.path. "
            "Take that one off the path (PYTHONPATH)"
        )


def _is(folder: Path, package: Any) -> bool:
    places = getattr(package, "__path__", None) or getattr(package, "submodule_search_locations", None) or ()
    return any(folder.resolve() == Path(place).resolve() for place in places)


@cache
def _papers(here: str, places: tuple[str, ...]) -> tuple[Paper, ...]:
    folders = (sorted(Path(here, place, PACKAGE).glob(f"*/{MARK}")) for place in places)
    return tuple(sorted(map(_read, next(filter(None, folders), ())), key=lambda paper: -paper.year))


def _read(path: Path) -> Paper:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    keys = [field.name for field in fields(Paper)[2:]]
    wrong = sorted({*content} - {*keys}) or sorted({"title", "year"} - {*content})
    if wrong:
        raise ValueError(f"{path}: {', '.join(wrong)}: expected title and year, and of {', '.join(keys[2:])} any")
    files = {file.stem for file in (path.parent / "sections").glob("*.py")} - {"__init__"}
    for key in ("sections", "study_sections"):
        content[key] = tuple(content.get(key) or ())
        if unknown := [name for name in content[key] if name not in files]:
            there = f"there are {', '.join(sorted(files))}" if files else "there is none"
            raise ValueError(f"{path}: {key}: {', '.join(unknown)}: expected files in its folder sections; {there}")
    return Paper(path.parent.name, path.parent, **content)


def paper_claims() -> dict[str, PaperClaim]:
    """All claims by id, in the order of the papers."""
    return _claims(papers())


@cache
def _claims(of: tuple[Paper, ...]) -> dict[str, PaperClaim]:
    claims = [_claim(paper, row) for paper in of for row in paper.rows(CLAIMS)]
    return {claim.id: claim for claim in claims}


def _claim(paper: Paper, row: dict[str, str]) -> PaperClaim:
    columns: dict[str, Any] = {**row, "paper": paper.name, "needs": tuple(row.get("needs", "").split())}
    try:
        claim = PaperClaim(**columns)
    except TypeError as error:
        raise ValueError(f"{paper.folder / CLAIMS}: wrong columns: {error}") from error
    if not claim.id.startswith(f"{paper.name}-"):
        raise ValueError(f"{paper.folder / CLAIMS}: expected an id that begins with '{paper.name}-', got {claim.id!r}")
    return claim
