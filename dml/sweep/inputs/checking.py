"""What only the data can tell about a study, checked before its first trial instead of in each of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import discovery, losses, models, noise
from dml.config import ConfigError, DatasetSection, Study, check_files, location, place_of
from dml.data import DataError, sources, splits
from dml.data.packing import of_vectors
from dml.data.packing.listing import OPTIONAL, fields_of
from dml.files import read_json
from dml.protocols import Source, VectorSource
from dml.sweep.inputs.vectors import stored_trainings
from dml.sweep.plan import specs
from dml.sweep.plan.space import space_of, tuning_trials
from dml.sweep.plan.specs import FindInitFrom
from dml.training import closed_form
from dml.training.build import build_model, build_sampler
from dml.training.data import check_labels, check_pairs, check_sets, open_data, open_packed_of, seeds_by_split, split_of
from dml.training.frozen.opening import find_features, open_trial
from dml.training.frozen.recipe import of_whole_backbone, stored_shape
from dml.types import TUNING_SEED, Cell, Choice, ScoreKey, TrainingSpec

DIGESTS = dict.fromkeys(("packed", "split", "labels"), "")  # neither networks nor batches depend on them


def check(study: Study, root: Path, file: Path, find_init_from: FindInitFrom) -> None:
    """Reject what the data make impossible."""
    check_files(study, file)
    _check_sets(study, root)
    for dataset in study.datasets:
        for training in stored_trainings(study, dataset.label):
            find_features(root, dataset.label, training)
    checked: set[tuple[Any, ...]] = set()
    for cell in study.cells():
        _check_cell(study, cell, root, file, find_init_from, checked)


def check_own_files(study: Study, file: Path) -> None:
    """Reject what a person's files say before they are packed: labels, sets, class splits, noise, sizes of vectors."""
    for number, dataset in enumerate(study.datasets):
        source = sources.build(dataset.name, **dataset.settings)
        try:
            records = [] if source.counts else list(source.images(Path()))  # those of known datasets are known
            index = pd.DataFrame(map(fields_of, records)).assign(index=range(len(records)))
            for name, default in OPTIONAL.items():
                values = [record.get(name, default) for record in records]
                index = index.assign(**{name: values}) if set(values) != {default} else index
            splits.by_seed(index, source)
        except (DataError, ValueError, OSError, LookupError):  # not downloaded yet, or as the data stages say it
            continue
        try:
            _check_records(study, dataset, source, index)
        except ValueError as error:
            raise ConfigError(f"{place_of(file, 'datasets', number)}: {error}") from None
        width = source.vectors(Path()).shape[1] if isinstance(source, VectorSource) else 0
        for cell in study.cells() if width else ():
            for kind in _closed_forms(study, cell, study.training_of(cell).spec()).values():
                size = study.training_of(cell).embedding_size
                _check_size(study, cell, file, kind, size, width)


def _check_records(study: Study, dataset: DatasetSection, source: Source, index: pd.DataFrame) -> None:
    several = study.splits > 1
    tables = splits.make_several(index, source, study.splits, study.folds) if several else []
    if any(model.by_given for model in study.noise) and "given_fine" not in index:
        raise ValueError(f"dataset {dataset.label!r} has no labels as given beside verified ones, which noise needs")
    models = [model for model in study.noise if discovery.find("dml.noise", model.name).context in ((), ("phase",))]  # type: ignore[attr-defined]
    drawn = [(model.label, rate, model.settings) for model in models for rate in model.rates]
    for table in tables or splits.by_seed(index, source).values():
        check_labels(study, dataset, index, table)
        rows = table.loc[table["final"] == "train", "index"].to_numpy()
        if drawn:
            noise.table(rows, index[dataset.train_on].to_numpy()[rows], drawn, study.seeds[:1], "confirm")


def _check_sets(study: Study, root: Path) -> None:
    """That each evaluation set has images, and that of the objective two of one class."""
    tuned = {cell.dataset for cell in study.cells() if tuning_trials(study, cell)}
    for dataset, number in itertools.product(study.datasets, range(study.splits)):
        name = splits.data_name(dataset.label, number)
        index = open_packed_of(root, dataset.label).index
        for split in (split_of(root, name, seeds[0]) for seeds in seeds_by_split(root, name, study.seeds)):
            check_sets(split, study.evaluation.sets, dataset.label)
            for part in ["", "validation"] if dataset.label in tuned else [""]:
                scored, level, _ = ScoreKey.parse(study.objective(dataset.label, part))
                labels = splits.given_labels(index, "fine") if level == "given" else index[level].to_numpy()
                check_pairs(split, labels, scored, dataset.label)


def _check_cell(
    study: Study, cell: Cell, root: Path, file: Path, find_init_from: FindInitFrom, checked: set[tuple[Any, ...]]
) -> None:
    """Check batches, the network, its initial weights and closed forms of a cell's trials, each case once."""
    training = study.training_of(cell)
    by_seed = training.init_from is not None or _closed_forms(study, cell, training.spec())
    space = space_of(study, cell).get("training.embedding_size", Choice((training.embedding_size,)))
    assert isinstance(space, Choice), "whole numbers are searched among choices"
    runs = [("confirm", seed) for seed in (study.seeds if by_seed else study.seeds[:1])]
    runs += [("tune", TUNING_SEED)] if tuning_trials(study, cell) else []
    for (phase, seed), split, size in itertools.product(runs, range(study.splits), space.options):
        start = "training.start" if training.init_from is not None else "training.backbone_settings"
        with _located(study, cell, file, start):
            chosen = {"training.embedding_size": size}
            spec = specs.build(study, cell, phase, seed, chosen, DIGESTS, find_init_from, split)
        case = (cell.dataset, split, cell.noise, cell.rate, phase, seed, repr(spec.training))
        if case in checked:
            continue
        checked.add(case)
        data = open_data(spec, root)
        if phase == "tune" and data.validation is not None and not data.validation.duplicated().any():
            raise ValueError(
                f"dataset {cell.dataset!r}: {cell.noise} noise at {cell.rate:g}: no two validation images have the "
                f"same observed label, so nothing can be chosen: expected a class with two images there, got "
                f"{len(data.validation)} images"
            )
        half = " (tuning trains on half of the classes)" if spec.data_phase == "tune" else ""
        with _located(study, cell, file, "training.batch", half):
            build_sampler(spec, data)
        with _located(study, cell, file, "training.backbone"):
            if not of_vectors(data.packed.manifest):
                stored_shape(of_whole_backbone(spec.training), data.packed.manifest)
        with _located(study, cell, file, start):
            parts = models.components_of(training.backbone, training.backbone_settings)
            files = [settings.get(key) for name, settings in parts for key in models.find(name).file_settings]
            if training.init_from or any(files):
                build_model(spec, data)
        for name, kind in _closed_forms(study, cell, spec.training).items():
            with _located(study, cell, file, name):
                closed_form.check_classes(kind, data.observed)
            features = build_model(spec, open_trial(spec, root), resumes=True).backbone.features
            _check_size(study, cell, file, kind, size, features)


def _check_size(study: Study, cell: Cell, file: Path, kind: str, size: int, features: int) -> None:
    if size > features:
        with _located(study, cell, file, "training.embedding_size"):
            raise ValueError(
                f"{kind}: expected embedding_size of at most {features}, the number of features of backbone "
                f"{study.training_of(cell).backbone!r}, got {size}"
            )


def _closed_forms(study: Study, cell: Cell, training: TrainingSpec) -> dict[str, str]:
    """By the setting that says so, in which closed form a cell's head starts or is refitted."""
    if (kind := losses.closed_form_of(cell.loss.name)) is not None:
        return {"losses": kind}
    kinds = {f"training.{name}": getattr(training, name) for name in ("head_start", "head_refit")}
    return {name: kind for name, kind in kinds.items() if kind not in ("random", None)}


@contextmanager
def _located(study: Study, cell: Cell, file: Path, setting: str, more: str = "") -> Iterator[None]:
    """Say with a problem in which line the study states a setting of a cell."""
    try:
        yield
    except ValueError as error:
        where: tuple[str | int, ...] = location(study, cell, setting)
        if setting == "losses":
            where = "losses", next(index for index, loss in enumerate(study.losses) if loss.name == cell.loss.name)
        problem = f"dataset {cell.dataset!r}: {error}{more}"
        raise ConfigError(f"{place_of(file, *where)}: {problem}") from None


def data_counts(study: Study, data_root: Path) -> dict[str, Any]:
    """By dataset: `{skipped, roles: {train: {images, classes}, test: ...}}`, at the level that it is trained on.

    Of the first seed and class split, with `notes` if there are any. Empty if outputs of the data stages are missing.
    """
    by_dataset: dict[str, Any] = {}
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
            by_dataset[dataset.label] = {"skipped": len(packed.manifest["skipped"]), "roles": counts}
            if notes := data_notes(study, dataset.label, data_root):
                by_dataset[dataset.label]["notes"] = notes
    except (FileNotFoundError, DataError):
        return {}
    return by_dataset


def data_notes(study: Study, dataset: str, data_root: Path, left_out: str | None = None) -> list[str]:
    """What to tell the user of packed images: what is left out, and identical images on both sides of the split."""
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
