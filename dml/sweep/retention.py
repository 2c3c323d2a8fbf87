"""Which trained models stay on disk: `resources.keep_models`.

- `all`: those of all confirmed trials.
- `cells`: that of each cell's best seed, by the objective on the first evaluated set. This decides no score: a cell's
  scores are means over all seeds.
- `best`: that of the best cell of each dataset, by validation score, with labels as given; of a study without such
  labels (`dml.config.for_use`), of each dataset and noise level.

A finished trial counts as done without its model. A sweep writes which models its study keeps and drops
(`store/sweeps/<study>.models`) when it ends, and every ten minutes for the cells that are confirmed, so that the
disk need not hold all at once. Then it deletes those that some study drops and none keeps or starts from. A killed
deletion is completed by the next one.

Lets the trials of a study whose models are missing run again, for `keep_models: all` or another's `init_from`.

python -m dml.sweep.retention STUDY
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd

from dml.config import Study, load_study
from dml.config.for_use import comparable, for_use
from dml.files import Locked, locked, read_json, write_text
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.store.mirror import MODELS_SUFFIX, known_keys
from dml.sweep.store.storages import models_of_others
from dml.sweep.store.trials import FINISHED, TRIALS, TrialStore, only_sweep
from dml.types import Cell

SMALL = 2 * 2**30  # bytes: up to this size the models of all cells stay by default
DELETED = ".model.deleted"
MODEL = "model"


def model_folder(store: TrialStore, key: str) -> Path:
    """The folder of a trial's model."""
    return store.folder(key) / MODEL


def policy(study: Study, total: float) -> str:
    """The study's `keep_models`: by default `cells` if one model per cell takes up to `SMALL` bytes, else `best`.

    Parameters
    ----------
    total : the bytes of one model per cell.
    """
    return study.resources.keep_models or ("cells" if total <= SMALL else "best")


def best_model(plan: Plan) -> Job | None:
    """The trial whose model is the study's best one; None if it has no model with labels as given.

    Of the first cell by validation score with a model, of the first dataset.
    """
    return next(iter(_best_models(plan, for_use(plan.cells)[:1], plan.ranking())), None)


def kept_by_best(cells: Sequence[Cell]) -> list[list[int]]:
    """The groups of cells, by their places, of which `best` keeps one model each."""
    return for_use(cells) or list(comparable(cells).values())


def _best_models(plan: Plan, groups: Iterable[Sequence[int]], ranked: Sequence[int]) -> Iterator[Job]:
    """Of each group of cells, the best seed of the first one in the ranking of states with a model."""
    for group in groups:
        jobs = (_best_seed(plan, index) for index in ranked if index // plan.study.splits in group)
        yield from itertools.islice((job for job in jobs if job is not None), 1)


def record(plan: Plan, needed: Iterable[str] = ()) -> int:
    """Write which models the study keeps and drops, of the cells that are confirmed with all seeds; how many it keeps.

    Parameters
    ----------
    needed : keys of trials that other studies start from; those of this study are kept.
    """
    complete = [i for i, state in enumerate(plan.states) if state.confirmed and state.done]
    present = [job for index in complete for job in _with_model(plan, index)]
    sizes = [_size(plan.store, job.key) for job in present]
    chosen = policy(plan.study, len(plan.states) * sum(sizes) / max(1, len(sizes)))
    if chosen == "all":
        kept = present
    elif chosen == "cells":
        kept = [job for index in complete if (job := _best_seed(plan, index)) is not None]
    else:
        kept = list(_best_models(plan, kept_by_best(plan.cells), [i for i in plan.ranking() if i in complete]))
    own = {job.key for index in complete for job, _ in plan.states[index].finished()}
    keep = {job.key for job in kept} | (own & set(needed))
    drop = own - keep
    content = {"policy": chosen, "keep": sorted(keep), "drop": sorted(drop)}
    write_text(_record_path(plan.store, plan.study.name), json.dumps(content, indent=1))
    return len(keep)


def dropped(store: TrialStore, needed: Iterable[str] = ()) -> list[str]:
    """The keys of the trials whose models exist although no study keeps or needs them.

    A study keeps the models of trials about which it has not decided: a sweep decides when it ends. Sweeps of other
    stores count too where this one has a storage.
    """
    folder, keep, drop = store.root / "sweeps", set(needed), set()
    undecided = known_keys(store.root)
    for path in sorted(folder.glob(f"*{MODELS_SUFFIX}")):
        content = read_json(path) or {}
        own = set(content.get("drop", ()))
        drop |= own
        keep |= set(content.get("keep", ()))
        study = path.name.removesuffix(MODELS_SUFFIX)
        undecided[study] = undecided.get(study, set()) - own
    keep |= set().union(*undecided.values())
    if store.remote is not None and drop - keep:
        keep |= models_of_others(store.remote, store.root)
    return [key for key in sorted(drop - keep) if model_folder(store, key).is_dir() or store.files_there(key, MODEL)]


def delete_dropped(store: TrialStore, study: str, needed: Iterable[str] = ()) -> tuple[int, int]:
    """Delete the models that no study keeps or needs. Call it only while holding the sweep's lock.

    Does nothing while another study's sweep runs in the same store: it has not decided yet what it keeps. Its own end
    deletes them.

    Parameters
    ----------
    study : the one whose sweep ends.
    needed : keys of trials whose models are needed in any case.

    Returns
    -------
    The number of deleted models, and their bytes.
    """
    others = [path for path in (store.root / "sweeps").glob("*.lock") if path.stem != study]
    if any(is_locked(path) for path in others):
        return 0, 0
    for left in store.root.glob(f"trials/*/{DELETED}"):  # by a killed process
        shutil.rmtree(left, ignore_errors=True)
    count = size = 0
    for key in dropped(store, needed):
        size += _size(store, key)
        count += 1
        delete_model(store, key)
    return count, size


def delete_model(store: TrialStore, key: str) -> None:
    """Delete a trial's model, here and in the cluster's storage. A reader sees all of it or nothing."""
    away = store.folder(key) / DELETED
    shutil.rmtree(away, ignore_errors=True)
    with suppress(FileNotFoundError):
        model_folder(store, key).rename(away)
    shutil.rmtree(away, ignore_errors=True)
    store.delete_remote(key, MODEL)


def missing(plan: Plan) -> int:
    """How many finished confirmations have no model here although the study says `keep_models: all`."""
    if plan.study.resources.keep_models != "all":
        return 0
    return sum(len(plan.states[i].finished()) - len(_with_model(plan, i)) for i in range(len(plan.states)))


def _best_seed(plan: Plan, index: int) -> Job | None:
    """The cell's trial with the highest objective among those with a model, the first one in a tie."""
    present = {job.key for job in _with_model(plan, index)}
    pairs = [pair for pair in plan.states[index].finished() if pair[0].key in present]
    return max(pairs, key=lambda pair: pair[1].scores[plan.objective(pair[0])])[0] if pairs else None


def _with_model(plan: Plan, index: int) -> list[Job]:
    found = (job for job, _ in plan.states[index].finished())
    return [job for job in found if has_model(plan.store, job.key)]


def has_model(store: TrialStore, key: str) -> bool:
    """Whether a trial's model is on this disk, or in the listed storage."""
    return (model_folder(store, key) / "model.json").is_file() or f"{MODEL}/model.json" in store.files_there(key, MODEL)


def _record_path(store: TrialStore, study: str) -> Path:
    return store.root / "sweeps" / f"{study}{MODELS_SUFFIX}"


def _size(store: TrialStore, key: str) -> int:
    """The bytes of a trial's model, here or in the listed storage."""
    here = sum(path.stat().st_size for path in model_folder(store, key).rglob("*") if path.is_file())
    return here or sum(store.files_there(key, MODEL).values())


def is_locked(path: Path) -> bool:
    """Whether another process holds a lock."""
    try:
        with locked(path, wait=False):
            return False
    except Locked:
        return True


RESULT = "result.json"
SET_ASIDE = "result.without-model.json"


def set_aside(study: str, results: Path, store: Path, storage: str | None = None) -> int:
    """Set the outcomes of a study's confirmed trials without a model aside, so that its next sweep trains them.

    The same settings, seed and versions give the same weights again. A model that only the storage has is not missing.

    Parameters
    ----------
    storage : the study's `resources.storage`, whose outcomes are set aside too.

    Returns
    -------
    The number of trials.

    Raises
    ------
    ValueError : the study has no results.
    RuntimeError : its sweep is running.
    StorageError : the storage cannot be used.
    """
    path = results / study / "trials.parquet"
    if not path.is_file():
        raise ValueError(f"study {study!r} has no results: run it first: dml run {study}")
    trials, place, count = pd.read_parquet(path), TrialStore(store, storage).look(), 0
    with only_sweep(store, study):
        for key in trials[(trials["phase"] == "confirm") & (trials["status"] == FINISHED)]["key"]:
            if has_model(place, key):
                continue
            count += 1
            outcome = place.folder(key) / RESULT
            if outcome.is_file():
                outcome.replace(outcome.with_name(SET_ASIDE))
            if place.remote is not None and (content := place.remote.read(f"{TRIALS}/{key}/{RESULT}")) is not None:
                place.remote.write(f"{TRIALS}/{key}/{SET_ASIDE}", content)
                place.remote.delete_file(f"{TRIALS}/{key}/{RESULT}")
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    name = parser.parse_args().study
    try:
        storage = load_study(Path("pipelines/studies") / f"{name}.yaml").resources.storage
        number = set_aside(name, Path("results"), Path("store"), storage)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"error: {error}")
    command = f"DML_SNAPSHOTS=off dvc repro --force --single-item sweep@{name}"
    print(f"{name}: {number} trials will run again. Set resources.keep_models, then: {command}")
