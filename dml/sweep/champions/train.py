"""Trains a champion in this process, from its checkpoint if it was interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from dml.config import Study
from dml.config.parts import ESTIMATED
from dml.data.packing import of_vectors
from dml.files import locked, read_json
from dml.sweep.champions import data as champion_data
from dml.sweep.champions.card import CARD, write_card
from dml.sweep.champions.data import NO_NOISE
from dml.sweep.execution.training import training
from dml.sweep.inputs.rates import Rates
from dml.sweep.plan import keys, specs
from dml.sweep.plan.space import space_of
from dml.sweep.plan.specs import with_rate
from dml.sweep.store.init_from import InitFromFinder
from dml.training.allocator import keep_freed_memory
from dml.training.data import open_packed_of
from dml.training.frozen.extraction import extract
from dml.training.frozen.recipe import of_whole_backbone
from dml.types import Cell, EvaluationSpec, NoiseSpec, TrialSpec

KEY_DIGITS = 16
POLL_SECONDS = 0.5
CHECKPOINTS = 20  # about, beside those that are due after some time

Progress = Callable[[int, int], None]
"""(steps done, all steps), several times a second."""


@dataclass(frozen=True)
class Champion:
    """A trained champion."""

    folder: Path  # its model: weights, `model.json`, and the card
    spec: TrialSpec
    key: str  # of everything that decides its weights
    card: dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """What to train: a winner's settings."""

    study: Study
    cell: Cell
    settings: dict[str, Any]  # of a confirmed trial of the cell, by dotted names
    rate: float | None  # the share of the labels that are wrong; None: estimated for a filter that assumes one
    recipe: dict[str, Any]  # of the study, for the card
    labels: Path | None = None  # a label file in place of the dataset's labels


def train_champion(
    wanted: Wanted,
    name: str,
    data_root: Path,
    store: Path,
    results: Path,
    progress: Progress = lambda step, total: None,
    report: Callable[[str], None] = print,
) -> Champion:
    """Train a champion, or find the one that was trained from the same settings and data.

    An interrupted training resumes from its checkpoint. `store/champions/<name>/` contains the data's lists, and a
    folder for each champion of this name.

    Parameters
    ----------
    data_root : the outputs of the study's data stages (`data/<study>`), at least packed images.
    results : the folder with the results of all studies, for `training.init_from`.

    Raises
    ------
    FileNotFoundError : the images are not packed.
    ValueError : labels or settings do not fit the images, or the machine lacks what the study asks for.
    RuntimeError : another process trains a champion of this name.
    """
    place, dataset = store / "champions" / name, wanted.cell.dataset
    with locked(place / "lock", wait=False):
        packed = open_packed_of(data_root, dataset)
        images = champion_data.all_images(wanted.study, dataset, packed, wanted.labels)
        digests = champion_data.write(images, dataset, wanted.study.seeds[0], data_root, place / "data")
        starts = InitFromFinder(results, store)
        spec = champion_spec(wanted.study, wanted.cell, wanted.settings, wanted.rate, digests, starts)
        if spec.training.stored and not of_vectors(packed.manifest):
            needed = [spec.training]
            if spec.filter is not None and of_whole_backbone(spec.training) != spec.training:
                needed.append(of_whole_backbone(spec.training))  # from which a filter's rate is estimated
            for training in needed:
                features = extract(packed, training, store / "features", report=report)
                champion_data.add_features(place / "data", dataset, features.name, features)
        spec = with_rate(spec, Rates(place / "data", store, report))
        key = keys.key(spec)
        folder = place / key[:KEY_DIGITS]
        earlier = read_json(folder / "model" / CARD)
        if earlier is not None:
            seconds = earlier["training"]["seconds"]
            report(f"{folder}: trained already")
        else:
            counts = images.counts
            report(
                f"{name}: training on {counts['images']} images of {counts['classes']} classes ({images.labels}"
                + (f", {counts['left_out']} left out" if counts["left_out"] else "")
                + f"), {spec.training.total_steps} steps"
                + (", in one process" if spec.training.workers > 1 else "")
            )
            seconds = _train(spec, place / "data", folder, progress)
        card = write_card(folder / "model", spec, wanted.study, wanted.recipe, images, key, seconds)
    return Champion(folder / "model", spec, key, card)


def _train(spec: TrialSpec, data_root: Path, folder: Path, progress: Progress) -> float:
    """Train to the end. Returns the seconds of training, those before an interruption included."""
    keep_freed_memory()
    trainer = training(spec, data_root, folder, spec.training.device)
    try:
        with _watched(trainer, progress):
            while not trainer.finished:
                trainer.advance()
        seconds = trainer.result().seconds
        trainer.discard_checkpoint()
        return seconds
    finally:
        trainer.close()


@contextmanager
def _watched(trainer: Any, progress: Progress) -> Iterator[None]:
    """Report the trainer's step from another thread, and once at the end."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(POLL_SECONDS):
            progress(trainer.step, trainer.total_steps)

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    progress(trainer.step, trainer.total_steps)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        progress(trainer.step, trainer.total_steps)


def champion_spec(
    study: Study,
    cell: Cell,
    settings: Mapping[str, Any],
    rate: float | None,
    digests: Mapping[str, str],
    find_init_from: specs.FindInitFrom | None = None,
) -> TrialSpec:
    """The spec of a trial with the cell's settings on data with labels as they are.

    A filter assumes the noise rate `rate`, unless the study sets or searches what it assumes; of an unknown rate the
    spec says `estimated`, as a trial's (`specs.with_rate`). Nothing is evaluated.

    Parameters
    ----------
    settings : of a confirmed trial of the cell, by dotted names; of these, the searched ones and the step at which
        training stops are taken.
    rate : the share of the labels that are wrong; None: nobody knows it.
    digests : of the data.

    Raises
    ------
    ValueError : the study asks for a GPU that this machine lacks, or a file is missing.
    """
    searched = {name: settings[name] for name in (*space_of(study, cell), specs.STOP_AT) if name in settings}
    seed = study.seeds[0]
    spec = specs.build(study, cell, "confirm", seed, searched, digests, find_init_from)
    assumed: Any = ESTIMATED if rate is None else rate
    spec = replace(spec, filter=specs.filter_of(replace(cell, rate=assumed), searched))
    spec = specs.with_rate(spec, lambda _: assumed)
    if spec.training.device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"study {study.name!r} trains on a GPU (section resources), and torch finds none on this machine"
        )
    return replace(
        spec,
        noise=NoiseSpec(*NO_NOISE),
        evaluation=EvaluationSpec(
            every=max(1, spec.training.total_steps // CHECKPOINTS), sets=(), views=spec.evaluation.views
        ),
        protocol=TrialSpec.protocol,
    )
