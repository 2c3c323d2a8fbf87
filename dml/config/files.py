"""The files that a study names: found missing before anything is downloaded or packed."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dml
from dml import discovery
from dml.config.loading import ConfigError, place_of
from dml.config.names import own_key
from dml.config.study import Study
from dml.data import DataError, batches, sources
from dml.types import Cell

BACKBONE = "training.backbone_settings"


def check_files(study: Study, path: Path) -> None:
    """Reject a study whose backbones need packages that are missing, or files of weights that are missing or of another
    kind.

    Studies are valid without their files: the report shows published results on machines that have none.

    Parameters
    ----------
    path : of the study, for messages.

    Raises
    ------
    ConfigError : with file and line.
    """
    checked = set()
    for cell in study.cells():
        training = study.training_of(cell)
        if (network := repr((training.backbone, training.backbone_settings))) in checked:
            continue
        checked.add(network)
        setting = "training.backbone"
        try:
            dml.models.find(training.backbone).check_installed(training.backbone_settings)
            setting = BACKBONE
            dml.models.with_files(training.backbone, training.backbone_settings)
        except ValueError as error:
            raise ConfigError(f"{place_of(path, *location(study, cell, setting))}: {error}") from None


def check_data(
    study: Study, path: Path, packed: Container[str] = (), tunes: Callable[[Cell], object] = lambda cell: False
) -> None:
    """Reject a study whose data stages would fail: a user's own files are missing, or classes are too few for a batch.

    Parameters
    ----------
    path : of the study, for messages.
    packed : names of datasets that are packed already, so that their files are not needed.
    tunes : whether a cell's settings are searched, with half of the training classes.

    Raises
    ------
    ConfigError : with file and line.
    """
    for index, dataset in enumerate(study.datasets):
        if dataset.label not in packed:
            _check_exist(path, sources.find(dataset.name), dataset.settings, "datasets", index, "settings")
    for index, noise in enumerate(study.noise):
        _check_exist(path, discovery.find("dml.noise", noise.name), noise.settings, "noise", index, "settings")
    _check_classes(study, path, tunes)


def _check_exist(path: Path, part: type, settings: Mapping[str, Any], *where: str | int) -> None:
    for key in getattr(part, "file_settings", ()):
        value = settings.get(key)
        if value is not None and not Path(str(value)).exists():  # YAML reads the folder 2024 as a number
            problem = f"{value!r} does not exist (from {Path.cwd()})"
            raise ConfigError(f"{place_of(path, *where, key)}: {problem}")


def _check_classes(study: Study, path: Path, tunes: Callable[[Cell], object]) -> None:
    """That batches can be made of as many classes as a source says it trains on, and of half of them if that is so."""
    known, halved = {}, set()
    for dataset in study.datasets:
        source = sources.build(dataset.name, **dataset.settings)
        known[dataset.label] = source.counts.get("train", {}).get(dataset.train_on)
        if dataset.train_on == source.disjoint:  # half of these classes may have all of the other level's
            halved.add(dataset.label)
    own = {name: _own_labels(study, name) for name, classes in known.items() if classes is None and not study.folds}
    for cell in study.cells():
        batch, classes = study.training_of(cell).batch, known[cell.dataset]
        for phase, labels in own.get(cell.dataset, {}).items():
            if phase and not (study.search.protocol == "train_val_test" or tunes(cell)):
                continue
            try:
                batches.build(batch.sampler, labels=labels, classes=batch.classes, per_class=batch.per_class)
            except (ValueError, TypeError) as error:
                place = place_of(path, *location(study, cell, "training.batch"))
                raise ConfigError(f"{place}: dataset {cell.dataset!r}: {error}{phase}") from None
        if classes is None or batches.find(batch.sampler).needs_coarse:
            continue
        half = cell.dataset in halved and (study.search.protocol == "train_val_test" or bool(tunes(cell)))
        most = (classes + 1) // 2 if half else classes
        try:
            labels = np.arange(most).repeat(batch.per_class)
            batches.build(batch.sampler, labels=labels, classes=batch.classes, per_class=batch.per_class)
        except ValueError:
            place = place_of(path, *location(study, cell, "training.batch"))
            fitted = f", of which tuning fits {most}" if half else ""
            problem = f"{batch.classes} classes per batch, but dataset {cell.dataset!r} trains on {classes}{fitted}"
            advice = f"set training.batch.classes to at most {most}"
            raise ConfigError(f"{place}: {problem}: {advice}") from None


def _own_labels(study: Study, name: str) -> dict[str, np.ndarray]:
    """The labels of a person's own images that train, and of those that tuning fits, before they are packed.

    None if they cannot be read or split, or are given beside verified ones: the data stages say that.
    """
    import pandas as pd

    from dml.data import splits
    from dml.data.packing.listing import fields_of

    dataset = study.dataset(name)
    source = sources.build(dataset.name, **dataset.settings)
    try:
        records = list(source.images(Path()))
        index = pd.DataFrame([fields_of(record) for record in records])
        split = next(iter(splits.by_seed(index.assign(index=range(len(index))), source).values()))
    except (DataError, ValueError, OSError, LookupError):
        return {}
    labels = index[dataset.train_on].to_numpy()
    if "given_fine" in records[0] or batches.find(study.training.batch.sampler).needs_coarse:
        return {}
    half = " (tuning trains on half of the classes)"
    return {"": labels[split["final"] == "train"], half: labels[split["tune"] == "train"]}


def location(study: Study, cell: Cell, setting: str) -> tuple[str | int, ...]:
    """Where a study states a setting, or a section, of a cell: keys and positions of lists."""
    for axis, points in study.axes.items():
        for place, point in enumerate(points):
            own = {key: value for key, value in point.items() if key == setting or key.startswith(f"{setting}.")}
            if own and all(cell.grid_point.get(key) == value for key, value in own.items()):
                return "grid", axis, place
    room, _, rest = setting.partition(".")
    return tuple(filter(None, (room, *own_key(room, rest).split("."))))
