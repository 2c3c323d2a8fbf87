"""Which trials' models other studies start from (`training.init_from`)."""

from __future__ import annotations

from pathlib import Path

from dml.config import InitFromSection, Study, load_study
from dml.files import study_files
from dml.sweep.store.init_from import InitFromFinder


def starts_of(study: Study) -> list[InitFromSection]:
    """The sections `training.init_from` of a study's cells that name another study."""
    found = {repr(start): start for cell in study.cells() if (start := study.training_of(cell).init_from) is not None}
    return [start for start in found.values() if start.study is not None]


def studies_that_start(folder: Path) -> list[Study]:
    """The studies in a folder that start from models of others.

    Raises
    ------
    ConfigError : one of them is invalid, so it cannot be said what it needs.
    """
    words = ("init_from", "start")  # today's name and the earlier one
    texts = {path: path.read_text("utf-8", "replace") for path in study_files(folder)}
    named = [path for path, text in texts.items() if any(word in text for word in words)]
    studies = [load_study(path) for path in named]
    return [study for study in studies if starts_of(study)]


def needed_keys(studies: list[Study], starts: InitFromFinder) -> set[str]:
    """The keys of the trials whose models these studies start from. What does not exist yet is left out."""
    found = set()
    for study in studies:
        for start in starts_of(study):
            for dataset in study.datasets:
                for seed in {*study.seeds, study.search.seed}:
                    try:
                        found.add(starts.key(start, dataset.label, seed))
                    except ValueError:  # no results yet, or the study asks for a cell that does not exist
                        continue
    return found
