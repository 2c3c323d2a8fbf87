"""What the store contains that no study refers to any more, and how many bytes of models a study will keep.

A study refers to a trial if it is in `pipelines/studies` or `results`, and its results or its snapshot name the trial.
Only what has the form of `dml`'s own is listed, and raw files never: others may be a user's own. Nothing of a storage
is listed, which other machines may use.
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
ENDING = re.compile(r"\.(json|live|lock|mlflow)$")  # of a sweep's files: studies may have dots
OLD = (".journal", ".journal.unreadable", ".keys", ".models")  # what earlier versions kept of sweeps
USED = "used.json"  # which trained networks the last audit of a study used
REMOVING = ".removing"  # in the store: what a removal moves away before it deletes it


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
    store = project / "store"
    found = [*_trials(project), *_models(project), *_packed(project), *_features(project), *_sweeps(project)]
    found += _audits(project)
    found += [(path, "left by a removal that was interrupted") for path in (store / REMOVING).glob("*")]
    whole = {path for path, _ in found}
    found = [(path, why) for path, why in found if whole.isdisjoint(path.parents)]
    entries = [entry for path, why in found if (entry := _entry(path, why)) is not None]
    return sorted(entries, key=lambda entry: (-entry.bytes, str(entry.path)))


def remove(entries: Iterable[Unreferenced]) -> int:
    """Remove entries. Skips trials that are running, and what is gone already.

    A killed removal leaves a trial either whole or in `store/.removing`, which `unreferenced` lists.

    Returns
    -------
    The number of bytes freed.
    """
    freed = 0
    for entry in entries:
        if _is_running(entry.path) or not entry.path.exists():
            continue
        store = next(folder for folder in entry.path.parents if folder.name == "store")
        away = store / REMOVING / f"{entry.path.parent.name}-{entry.path.name}-{time.time_ns()}"
        away.parent.mkdir(exist_ok=True)
        entry.path.rename(away)
        if away.is_dir():
            shutil.rmtree(away)
        else:
            away.unlink()
        freed += entry.bytes
        with suppress(OSError):  # others may be left in it
            away.parent.rmdir()
    return freed


def studies_of(project: Path) -> set[str]:
    """The names of the studies in `pipelines/studies` and `results`."""
    files = {path.stem for path in study_files(project / "pipelines/studies")}
    return files | {path.parent.name for path in (project / "results").glob("*/trials.parquet")}


def _sweep_runs(project: Path) -> bool:
    return any(is_locked(path) for path in (project / "store/sweeps").glob("*.lock"))


def _trials(project: Path) -> Iterator[tuple[Path, str]]:
    """Trials that no table names.

    None while a sweep runs, or where one was interrupted: its table may lack the last ones.
    """
    tables = {path.parent.name: path for path in (project / "results").glob(f"*/{TABLE}")}
    kept = {snapshot.path.name: snapshot for snapshot in snapshots(project / "docs/results")}
    ran, studies = {path.stem for path in (project / "store/sweeps").glob("*.json")}, studies_of(project)
    open_sweeps = sorted(path.stem for path in (project / "store/sweeps").glob("*.live") if path.stem in studies)
    if open_sweeps:
        names = " ".join(open_sweeps)
        print(
            f"no trial is listed: sweeps have not ended (dml run {names}, or delete their tables in store/sweeps)",
            file=sys.stderr,
        )
    if open_sweeps or _sweep_runs(project) or (ran & studies) - {*tables, *kept}:
        return
    named: set[str] = set()
    for path in tables.values():
        named |= set(pd.read_parquet(path, columns=["key"])["key"])
    prefixes = {key for study in kept.keys() & studies for key, _ in kept[study].outcomes()}
    digits = len(next(iter(prefixes), ""))
    for folder in sorted(path for path in (project / "store/trials").glob("*") if KEY.fullmatch(path.name)):
        if folder.name not in named and folder.name[:digits] not in prefixes and not _is_running(folder):
            done = any((folder / name).is_file() for name in OUTCOMES)
            yield folder, f"{'a' if done else 'an unfinished'} trial that no study refers to"


def _models(project: Path) -> Iterator[tuple[Path, str]]:
    """Models that a sweep could not delete, because another one was running."""
    store, results = TrialStore(project / "store"), project / "results"
    if _sweep_runs(project):
        return
    try:
        needed = needed_keys(studies_that_start(project / "pipelines/studies"), InitFromFinder(results, store.root))
    except ConfigError:
        return
    for key in sorted(dropped(store, results, needed)):
        yield project / "store" / TRIALS / key / MODEL, "a model that no study keeps"


def _packed(project: Path) -> Iterator[tuple[Path, str]]:
    packed = sorted((project / "store/packed").glob("[!.]*"))
    try:
        named = {name for path in study_files(project / "pipelines/studies") for name in packed_by(path)}
    except (ConfigError, ValueError, KeyError, TypeError, ImportError):
        return
    for path in (project / "data").glob("[!.]*/pack.json"):
        named |= {Path(manifest["folder"]).name for manifest in (read_json(path) or {}).values()}
    for folder in packed:
        if (folder / "manifest.json").is_file() and folder.name not in named:
            yield folder, "packed images of a dataset, or with settings, that no study names"


def packed_by(path: Path) -> set[str]:
    """The names of the packed folders that a study's datasets need."""
    found = set()
    for dataset in load_study(path).datasets:
        found.add(packed_id(sources.build(dataset.name, **dataset.settings), **dataset.packing))
    return found


def _features(project: Path) -> Iterator[tuple[Path, str]]:
    """Features that no output of a data stage names."""
    frozen = [
        path.stem
        for path in study_files(project / "pipelines/studies")
        if any(word in path.read_text("utf-8", "replace") for word in ("frozen", "train_from"))
    ]
    if any(not (project / "data" / study / "features.json").is_file() for study in frozen):
        return
    named = "\n".join(path.read_text(encoding="utf-8") for path in sorted((project / "data").glob("[!.]*/*.json")))
    for folder in sorted((project / "store/features").glob("[!.]*")):
        if folder.is_dir() and json.dumps(folder.name)[1:-1] not in named:
            yield folder, "features that no study names"


def _sweeps(project: Path) -> Iterator[tuple[Path, str]]:
    """What sweeps of studies that are gone left: its state and its table of trials."""
    studies = studies_of(project)
    for path in sorted((project / "store/sweeps").glob("[!.]*")):
        if path.name.endswith(OLD):
            yield path, "of an earlier version of dml, which kept it beside the tables of trials"
            continue
        study = ENDING.sub("", path.name)
        if study not in (path.name, *studies) and path.suffix != ".lock":
            yield path, f"of the sweep of {study}, which is gone"


def _audits(project: Path) -> Iterator[tuple[Path, str]]:
    """Folds of audits of studies that are gone, and networks that the last audit of a study did not use."""
    studies = studies_of(project)
    for path in sorted((project / "store/audits").glob("*")):
        if path.is_dir() and path.name not in studies:
            yield path, f"of the audit of {path.name}, which is gone"
    for used in sorted((project / "store/audits").glob(f"*/trained/{USED}")):
        names = read_json(used) or []
        for folder in sorted(set(used.parent.iterdir()) - {used, *(used.parent / name for name in names)}):
            entry = _entry(folder, "trained for an audit of labels or settings that have changed since")
            if entry is not None and entry.age_seconds > time.time() - used.stat().st_mtime:  # not begun since
                yield folder, entry.why


def _entry(path: Path, why: str) -> Unreferenced | None:
    """The entry for a path; None if it vanished."""
    size, newest = 0, 0.0
    for file in [path] if path.is_file() else [path, *path.rglob("*")]:
        with suppress(FileNotFoundError):
            status = file.stat()
            newest = max(newest, status.st_mtime)
            size += status.st_size if file.is_file() else 0
    return Unreferenced(path, size, max(0.0, time.time() - newest), why) if newest else None


def _is_running(path: Path) -> bool:
    """Whether a worker holds the lock of a trial, or a stage that of its output."""
    return (path / "lock").is_file() and is_locked(path / "lock")
