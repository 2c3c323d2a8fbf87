"""What the store contains that no study refers to any more, and how many bytes of models a study will keep.

A study refers to a trial if it is in `pipelines/studies` or `results`, and its results, its snapshot or its
last sweep (`store/sweeps/<study>.keys`) name the trial. Only what has the form of `dml`'s own is listed, and raw files
never: others may be a user's own.
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
from dml.sweep.retention import MODEL, dropped, is_locked
from dml.sweep.store.init_from import InitFromFinder, needed_keys, studies_that_start
from dml.sweep.store.mirror import known_keys
from dml.sweep.store.remote import Remote
from dml.sweep.store.storages import storages_of, unreferenced_there
from dml.sweep.store.trials import OUTCOMES, TRIALS, TrialStore

KEY = re.compile(r"[0-9a-f]{64}")  # of a trial
ENDING = re.compile(r"\.(journal|json|keys|live|lock|mlflow|models)$")  # of a sweep's files: studies may have dots
JOURNAL = (".journal", ".journal.unreadable")  # of searches; earlier versions kept them
USED = "used.json"  # which trained networks the last audit of a study used
REMOVING = ".removing"  # in the store: what a removal moves away before it deletes it


@dataclass(frozen=True)
class Unreferenced:
    """A file or folder of the store that no study refers to."""

    path: Path
    bytes: int
    age_seconds: float | None  # since its newest file was written; None: by another machine's clock
    why: str
    storage: str = ""  # the URI, if it is there and not on this disk; `path` is then below that


def unreferenced(project: Path) -> list[Unreferenced]:
    """What no study refers to, largest first.

    Where it cannot be said what a study refers to, nothing of that kind is listed: trials if a study ran with a version
    of `dml` that did not record them and its results are gone; packed data if a study cannot be read; features if the
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
    entries += _stored(project)
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
        if entry.storage:
            Remote(entry.storage).delete(entry.path.as_posix())
            freed += entry.bytes
            continue
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


def _stored(project: Path) -> Iterator[Unreferenced]:
    """Trials in the studies' storages. A storage that cannot be read is named, and lists nothing."""
    for storage in storages_of(project / "pipelines/studies"):
        try:
            found = list(unreferenced_there(storage))
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            continue
        own = _own_keys(project)  # after the trials: a sweep writes a key before its trial begins
        for key, size in found:
            if key in own:
                continue
            yield Unreferenced(Path(TRIALS, key), size, None, "no sweep that used this storage refers to it", storage)


def _own_keys(project: Path) -> set[str]:
    """All keys that this project's sweeps and results name."""
    keys = set().union(*known_keys(project / "store").values())
    for path in (project / "results").glob("*/trials.parquet"):
        keys |= set(pd.read_parquet(path, columns=["key"])["key"])
    return keys


def _trials(project: Path) -> Iterator[tuple[Path, str]]:
    # Before the keys are read: a sweep writes a key before its trial begins.
    folders = sorted(path for path in (project / "store/trials").glob("*") if KEY.fullmatch(path.name))
    studies, known = studies_of(project), known_keys(project / "store")
    results = {path.parent.name: path for path in (project / "results").glob("*/trials.parquet")}
    kept = {snapshot.path.name: snapshot for snapshot in snapshots(project / "docs/results")}
    ran = {path.stem for path in (project / "store/sweeps").glob("*.json")}
    if (ran & studies) - {*known, *results, *kept}:
        return
    keys = {key for study in known if study in studies for key in known[study]}
    for path in results.values():
        keys |= set(pd.read_parquet(path, columns=["key"])["key"])
    prefixes = {key for study in kept.keys() & studies for key, _ in kept[study].outcomes()}
    digits = len(next(iter(prefixes), ""))
    for folder in folders:
        if folder.name not in keys and folder.name[:digits] not in prefixes and not _is_running(folder):
            gone = sorted(study for study in known if folder.name in known[study])
            done = any((folder / name).is_file() for name in OUTCOMES)
            what = "a trial" if done else "an unfinished trial"
            yield folder, f"{what} of {', '.join(gone)}, which is gone" if gone else f"{what} that no study refers to"


def _models(project: Path) -> Iterator[tuple[Path, str]]:
    """Models that a sweep could not delete, because another one was running."""
    store = TrialStore(project / "store")
    try:
        needed = needed_keys(
            studies_that_start(project / "pipelines/studies"), InitFromFinder(project / "results", store.root)
        )
    except ConfigError:
        return
    for key in dropped(store, needed):
        yield project / "store" / TRIALS / key / MODEL, "a model that no study keeps (resources.keep_models)"


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
    """What sweeps of studies that are gone left: journals, lists and tables of trials."""
    studies = studies_of(project)
    for path in sorted((project / "store/sweeps").glob("[!.]*")):
        if path.name.endswith(JOURNAL):
            yield path, "the journal of a search, which is rebuilt from its trials"
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
            if entry is not None and (entry.age_seconds or 0) > time.time() - used.stat().st_mtime:  # not begun since
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
