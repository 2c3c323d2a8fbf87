"""What the store contains that no study of `pipelines/studies` or `results`, and no snapshot of one, refers to.

Only what `dml` wrote is listed, and raw files never. Nothing of a storage is listed, which other machines may use.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from dml.config import ConfigError, load_study
from dml.data import sources
from dml.data.packing import packed_id
from dml.files import read_json, study_files
from dml.snapshots import snapshots
from dml.sweep.retention import MODEL, TABLE, dropped, is_locked
from dml.sweep.store.init_from import InitFromFinder, needed_keys, studies_that_start
from dml.sweep.store.trials import OUTCOMES, TRIALS, TrialStore

KEY = re.compile(r"[0-9a-f]{64}")  # of a trial
REMOVING = ".removing-"  # begins the name of what a removal deletes


@dataclass(frozen=True)
class Unreferenced:
    """A file or folder of the store that no study refers to."""

    path: Path
    bytes: int
    age_seconds: float  # since its newest file was written
    why: str


def unreferenced(project: Path) -> list[Unreferenced]:
    """What no study refers to, largest first.

    Where it cannot be said what a study refers to, nothing of that kind is listed: trials while a sweep runs or is
    interrupted, and if a study ran whose table is gone; packed data if a study cannot be read; features if the
    outputs of a study with frozen features are gone.

    Parameters
    ----------
    project : the folder with `pipelines/studies`, `results`, `data`, `docs/results` and `store`.
    """
    project = Path(project).resolve()
    reasons = dict([*_trials(project), *_models(project), *_packed(project), *_features(project), *_audits(project)])
    reasons |= dict.fromkeys(project.glob(f"store/*/{REMOVING}*"), "left by a removal that was interrupted")
    entries = []
    for path in (path for path in reasons if reasons.keys().isdisjoint(path.parents)):
        with suppress(FileNotFoundError):  # somebody else removed it
            states = [file.stat() for file in [path, *path.rglob("*")] if file.is_file() or file == path]
            age = max(0.0, time.time() - max(state.st_mtime for state in states))
            size = sum(state.st_size for state in states[path.is_dir() :])
            entries.append(Unreferenced(path, size, age, reasons[path]))
    return sorted(entries, key=lambda entry: (-entry.bytes, str(entry.path)))


def remove(entries: Iterable[Unreferenced]) -> int:
    """Remove entries, and return the bytes that are freed. Skips trials that are running, and what is gone already.

    A killed removal leaves a folder either whole or renamed, as `unreferenced` lists it.
    """
    freed = 0
    for entry in entries:
        if entry.path.exists() and not _is_running(entry.path):
            away = entry.path.with_name(f"{REMOVING}{entry.path.name}-{time.time_ns()}")
            shutil.rmtree(entry.path.rename(away))
            freed += entry.bytes
    return freed


def _studies_of(project: Path) -> set[str]:
    """The names of the studies in `pipelines/studies` and `results`."""
    files = {path.stem for path in study_files(project / "pipelines/studies")}
    return files | {path.parent.name for path in (project / "results").glob(f"*/{TABLE}")}


def _sweep_runs(project: Path) -> bool:
    return any(is_locked(path) for path in (project / "store/sweeps").glob("*.lock"))


def _trials(project: Path) -> Iterator[tuple[Path, str]]:
    """Trials that no table names; none while a sweep runs or is interrupted, since its table may lack the last ones."""
    tables = {path.parent.name: path for path in (project / "results").glob(f"*/{TABLE}")}
    published = {snapshot.path.name: snapshot for snapshot in snapshots(project / "docs/results")}
    ran, studies = {path.stem for path in (project / "store/sweeps").glob("*.json")}, _studies_of(project)
    open_sweeps = sorted(path.stem for path in (project / "store/sweeps").glob("*.live") if path.stem in studies)
    if open_sweeps:
        remedy = f"dml run {' '.join(open_sweeps)}, or delete their tables in store/sweeps"
        print(f"no trial is listed: sweeps have not ended ({remedy})", file=sys.stderr)
    if open_sweeps or _sweep_runs(project) or (ran & studies) - {*tables, *published}:
        return
    named = {key for path in tables.values() for key in pd.read_parquet(path, columns=["key"])["key"]}
    prefixes = {key for study in published.keys() & studies for key, _ in published[study].outcomes()}
    digits = len(next(iter(prefixes), ""))
    for folder in sorted(path for path in (project / "store" / TRIALS).glob("*") if KEY.fullmatch(path.name)):
        if folder.name not in named and folder.name[:digits] not in prefixes and not _is_running(folder):
            done = any((folder / name).is_file() for name in OUTCOMES)
            yield folder, f"{'a' if done else 'an unfinished'} trial that no study refers to"


def _models(project: Path) -> Iterator[tuple[Path, str]]:
    """Models that a sweep could not delete, because another one was running."""
    store, results = TrialStore(project / "store"), project / "results"
    with suppress(ConfigError):
        needed = needed_keys(studies_that_start(project / "pipelines/studies"), InitFromFinder(results, store.root))
        for key in () if _sweep_runs(project) else sorted(dropped(store, results, needed)):
            yield store.folder(key) / MODEL, "a model that no study keeps"


def _packed(project: Path) -> Iterator[tuple[Path, str]]:
    try:
        datasets = [data for path in study_files(project / "pipelines/studies") for data in load_study(path).datasets]
        named = {packed_id(sources.build(data.name, **data.settings), **data.packing) for data in datasets}
    except (ConfigError, ValueError, KeyError, TypeError, ImportError):
        return
    for path in (project / "data").glob("[!.]*/pack.json"):
        named |= {Path(manifest["folder"]).name for manifest in (read_json(path) or {}).values()}
    for folder in sorted((project / "store/packed").glob("[!.]*")):
        if (folder / "manifest.json").is_file() and folder.name not in named:
            yield folder, "packed images of a dataset, or with settings, that no study names"


def _features(project: Path) -> Iterator[tuple[Path, str]]:
    """Features that no output of a data stage names."""
    for path in study_files(project / "pipelines/studies"):
        text = path.read_text("utf-8", "replace")
        stored = "frozen" in text or "train_from" in text
        if stored and not (project / "data" / path.stem / "features.json").is_file():
            return
    named = "\n".join(path.read_text(encoding="utf-8") for path in sorted((project / "data").glob("[!.]*/*.json")))
    for folder in sorted((project / "store/features").glob("[!.]*")):
        if folder.is_dir() and json.dumps(folder.name)[1:-1] not in named:
            yield folder, "features that no study names"


def _audits(project: Path) -> Iterator[tuple[Path, str]]:
    """Folds of audits of studies that are gone."""
    for path in sorted((project / "store/audits").glob("[!.]*")):
        if path.is_dir() and path.name not in _studies_of(project):
            yield path, f"of the audit of {path.name}, which is gone"


def _is_running(path: Path) -> bool:
    """Whether a worker holds the lock of a trial, or a stage that of its output."""
    return (path / "lock").is_file() and is_locked(path / "lock")
