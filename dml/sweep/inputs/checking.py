"""What only the data can tell about a study, checked before its first trial instead of in each of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from dml import losses, models
from dml.config import ConfigError, Study, check_files, location, place_of
from dml.data import DataError, sources, splits
from dml.data.packing import of_vectors
from dml.files import read_json
from dml.sweep.inputs.vectors import stored_trainings
from dml.sweep.plan import specs
from dml.sweep.plan.space import space_of, tuning_trials
from dml.sweep.plan.specs import FindInitFrom
from dml.training import closed_form
from dml.training.build import build_model, build_sampler
from dml.training.data import (
    EVALUATION_ROLES,
    check_pairs,
    check_sets,
    of_fitting_classes,
    open_data,
    open_packed_of,
    seeds_by_split,
    split_of,
)
from dml.training.frozen.opening import find_features, open_trial
from dml.training.frozen.recipe import of_whole_backbone, stored_shape
from dml.types import TUNING_SEED, Cell, Choice, InitFromSpec, ScoreKey

DIGESTS = dict.fromkeys(("packed", "split", "labels"), "")  # neither networks nor batches depend on them


def check(study: Study, root: Path, file: Path, find_init_from: FindInitFrom) -> None:
    """Reject what the data make impossible.

    Parameters
    ----------
    root : the folder with the data stages' outputs (`data/<study>`).
    file : of the study, for messages.
    find_init_from : finds the weights that networks start from.

    Raises
    ------
    ValueError : a dataset has no images in a set that `evaluation.sets` names, or no two of one class in the set of the
        objective.
    FileNotFoundError : stored features or activations of trials are missing; the message names the stage to run.
    ConfigError : there are fewer classes than a batch has; a network takes no images of this size, or does not fit the
        weights that it starts from or loads from a file; or a head cannot be fitted in closed form; with file, line and
        choices.
    """
    check_files(study, file)
    _check_sets(study, root)
    _check_networks(study, root, file)
    _check_batches(study, root, file)
    for dataset in study.datasets:
        for training in stored_trainings(study, dataset.label):
            find_features(root, dataset.label, training)
    _check_init_from(study, root, file, find_init_from)
    _check_closed_forms(study, root, file)


def _check_sets(study: Study, root: Path) -> None:
    """That each evaluation set has images, and that of the objective two of one class."""
    for dataset, number in itertools.product(study.datasets, range(study.splits)):
        own = splits.data_name(dataset.label, number)
        found = [split_of(root, own, seeds[0]) for seeds in seeds_by_split(root, own, study.seeds)]
        index = open_packed_of(root, dataset.label).index
        for split, name in itertools.product(found, study.evaluation.sets):
            check_sets(split, [name], dataset.label)
            column, roles = EVALUATION_ROLES[name]
            chosen = split[column].isin(roles)
            if study.search.protocol == "train_val_test" and name != "test":
                fine = index["fine"].to_numpy()
                if not len(of_fitting_classes(split.loc[chosen, "index"].to_numpy(), split, fine)):
                    raise ValueError(
                        f"dataset {dataset.label!r}: evaluation.sets names {name!r}, but with search.protocol "
                        "'train_val_test' only half of the training classes are fitted, and it has no image of them"
                    )
        tuned = any(cell.dataset == dataset.label and tuning_trials(study, cell) for cell in study.cells())
        for split, part in itertools.product(found, ["", "validation"] if tuned else [""]):
            scored, level, _ = ScoreKey.parse(study.objective(dataset.label, part))
            labels = splits.given_labels(index, "fine") if level == "given" else index[level].to_numpy()
            check_pairs(split, labels, scored, dataset.label)


def _check_networks(study: Study, root: Path, file: Path) -> None:
    """That networks take images of the datasets' sizes."""
    for cell in study.cells():
        manifest, training = (
            open_packed_of(root, cell.dataset).manifest,
            of_whole_backbone(study.training_of(cell).spec()),
        )
        if of_vectors(manifest):
            continue
        try:
            stored_shape(training, manifest)
        except ValueError as error:
            place = place_of(file, *location(study, cell, "training.backbone"))
            raise ConfigError(f"{place}: dataset {cell.dataset!r}: {error}") from None


def _check_batches(study: Study, root: Path, file: Path) -> None:
    """That the training labels have as many classes as a batch."""
    seen = set()
    for cell, split in itertools.product(study.cells(), range(study.splits)):
        for phase, seed in [("confirm", study.seeds[0]), *_tuned(study, cell)]:
            training = study.training_of(cell)
            case = (cell.dataset, split, cell.noise, cell.rate, repr(training.batch), phase)
            if case in seen:
                continue
            seen.add(case)
            spec = specs.build(study, cell, phase, seed, {}, DIGESTS, lambda *asked: InitFromSpec("", ""), split)
            data = open_data(spec, root)
            if phase == "tune" and data.validation is not None and not data.validation.duplicated().any():
                raise ValueError(
                    f"dataset {cell.dataset!r}: {cell.noise} noise at {cell.rate:g}: no two validation images have the "
                    f"same observed label, so nothing can be chosen: expected a class with two images there, got "
                    f"{len(data.validation)} images"
                )
            try:
                build_sampler(spec, data)
            except ValueError as error:
                half = " (tuning trains on half of the classes)" if spec.data_phase == "tune" else ""
                place = place_of(file, *location(study, cell, "training.batch"))
                raise ConfigError(f"{place}: dataset {cell.dataset!r}: {error}{half}") from None


def _tuned(study: Study, cell: Cell) -> list[tuple[str, int]]:
    """The phase and the seed of a cell's tuning trials, if it has any."""
    return [("tune", TUNING_SEED)] if tuning_trials(study, cell) else []


def _check_init_from(study: Study, root: Path, file: Path, find_init_from: FindInitFrom) -> None:
    """That the weights to start from, and those that backbones load from files, exist and fit."""
    seen = set()
    for cell in study.cells():
        training = study.training_of(cell)
        files = any(
            own.get(setting)
            for name, own in models.components_of(training.backbone, training.backbone_settings)
            for setting in models.find(name).file_settings
        )
        if training.init_from is None and not files:
            continue
        setting = "training.start" if training.init_from is not None else "training.backbone_settings"
        space = space_of(study, cell).get("training.embedding_size", Choice((training.embedding_size,)))
        assert isinstance(space, Choice), "whole numbers are searched among choices"
        runs = [*(("confirm", seed) for seed in study.seeds), *_tuned(study, cell)]
        for (phase, seed), size in itertools.product(runs, space.options):
            try:
                spec = specs.build(study, cell, phase, seed, {"training.embedding_size": size}, DIGESTS, find_init_from)
                case = (cell.dataset, repr(spec.training))
                if case not in seen:
                    build_model(spec, open_data(spec, root))
                seen.add(case)
            except ValueError as error:
                raise ConfigError(f"{place_of(file, *location(study, cell, setting))}: {error}") from None


def _check_closed_forms(study: Study, root: Path, file: Path) -> None:
    """That heads which start in closed form have classes to be fitted to, and features enough."""
    seen = set()
    for cell, (phase, seed) in itertools.product(study.cells(), [("confirm", None), ("tune", TUNING_SEED)]):
        if phase == "tune" and not tuning_trials(study, cell):
            continue
        size = study.training_of(cell).embedding_size
        space = space_of(study, cell).get("training.embedding_size", Choice((size,)))
        assert isinstance(space, Choice), "whole numbers are searched among choices"
        for one, own in itertools.product(study.seeds if seed is None else [seed], space.options):
            chosen = {"training.embedding_size": own}
            spec = specs.build(study, cell, phase, one, chosen, DIGESTS, lambda *asked: InitFromSpec("", ""))
            case = (cell.dataset, cell.noise, cell.rate, phase, one, repr(spec.training))
            wanted = {name: getattr(spec.training, name) for name in ("head_start", "head_refit")}
            wanted = {name: kind for name, kind in wanted.items() if kind not in ("random", None)}
            if not wanted or case in seen:
                continue
            seen.add(case)
            data = open_trial(spec, root)
            for name, kind in wanted.items():
                try:
                    closed_form.check_classes(kind, data.observed)
                except ValueError as error:
                    place = place_of(file, *_closed_form_of(study, cell, name))
                    raise ConfigError(f"{place}: dataset {cell.dataset!r}: {error}") from None
            features = build_model(spec, data, resumes=True).backbone.features
            if own > features:
                place = place_of(file, *location(study, cell, "training.embedding_size"))
                kinds = " and ".join(dict.fromkeys(wanted.values()))
                raise ConfigError(
                    f"{place}: dataset {cell.dataset!r}: {kinds}: expected embedding_size of at most {features}, the "
                    f"number of features of backbone {spec.training.backbone!r}, got {own}"
                )


def _closed_form_of(study: Study, cell: Cell, name: str) -> tuple[str | int, ...]:
    """Where a study asks for a cell's head in closed form, by the setting or by a loss that needs no training."""
    if losses.closed_form_of(cell.loss.name) is None:
        return location(study, cell, f"training.{name}")
    return "losses", next(index for index, loss in enumerate(study.losses) if loss.name == cell.loss.name)


def data_counts(study: Study, data_root: Path) -> dict[str, Any]:
    """By dataset: `{skipped, roles: {train: {images, classes}, test: ...}}`, at the level that it is trained on.

    Images that were skipped could not be decoded. Where seeds select the split, that of the first seed is counted,
    and of several class splits the first. If `data_notes` has any, they are in `notes`.
    Empty if the outputs of the data stages are missing or incomplete.
    """
    found: dict[str, Any] = {}
    try:
        for dataset in study.datasets:
            packed, split = open_packed_of(data_root, dataset.label), split_of(data_root, dataset.label, study.seeds[0])
            roles = split["final"].to_numpy().astype(str)
            if study.search.protocol == "train_val_test":  # then the confirmed models train on the fitting half
                roles = np.where(roles == "train", split["tune"].to_numpy().astype(str), roles)
            labels = packed.index["coarse" if dataset.train_on == "coarse" else "fine"].to_numpy()[split["index"]]
            counts = {
                role: {"images": int((roles == role).sum()), "classes": len(np.unique(labels[roles == role]))}
                for role in dict.fromkeys(roles.tolist())
                if role != "unused"
            }
            found[dataset.label] = {"skipped": len(packed.manifest["skipped"]), "roles": counts}
            if notes := data_notes(study, dataset.label, data_root):
                found[dataset.label]["notes"] = notes
    except (FileNotFoundError, DataError):
        return {}
    return found


def data_notes(study: Study, dataset: str, data_root: Path, left_out: str | None = None) -> list[str]:
    """What to tell the user of packed images: what is left out, and identical images on both sides of the split.

    Parameters
    ----------
    left_out : what the source says of files that it does not read; None: what it said when they were packed.

    Raises
    ------
    FileNotFoundError, ValueError : the outputs of the stage `pack` are missing or incomplete, or cannot be split.
    """
    packed, section = open_packed_of(data_root, dataset), study.dataset(dataset)
    copies, crossing = packed.manifest.get("copies"), ""
    if left_out is None:
        left_out = read_json(data_root / "pack.json")[dataset].get("left_out", "")
    if copies:
        try:
            split = split_of(data_root, dataset, study.seeds[0])
        except FileNotFoundError:  # `dml audit` needs no stage `split`
            split = next(iter(splits.by_seed(packed.index, sources.build(section.name, **section.settings)).values()))
        noun = "vector" if of_vectors(packed.manifest) else "image"
        crossing = splits.crossing(copies, split, packed.index["fine"].to_numpy(), noun)
    return [text for text in (left_out, packed.manifest.get("lost_classes"), crossing) if text]
