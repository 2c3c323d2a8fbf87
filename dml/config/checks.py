"""The checks between a study's sections. Each raises before anything runs, with the setting that has to change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

import dml
from dml import discovery, losses
from dml.config import compare, for_use, grid
from dml.config.errors import LocatedError
from dml.config.parts import SAMPLE, LossSection
from dml.config.study import Study
from dml.config.terms import extremes
from dml.config.training import TrainingSection
from dml.data import augment, batches, sources
from dml.types import Cell


def check(study: Study, stated: Collection[str] = ()) -> None:
    """Reject settings that cannot work together. `stated`: the settings of `training` that the study itself states."""
    _check_finite(study.model_dump())
    _check_policies(study)
    _check_grid(study)
    cells = list(study.combinations())
    _check_repetitions(study, cells)
    _check_taken(study, cells)
    _check_miner(study, cells)
    _check_filters(study, cells)
    _check_losses(study, cells)
    _check_objective(study)
    _check_vectors(study, cells, stated)
    _check_views(study)
    _check_given(study)
    for training in _trainings(study, cells):
        _check_training(study, *training)
        if study.splits > 1 and training[0].init_from is not None and training[0].init_from.study is not None:
            raise LocatedError(
                "the models of another study were trained on classes that further class splits test. Expected one "
                "class split, or no `study` in training.init_from",
                "class_splits",
            )
    compare.check(study)
    for_use.check(study)


def _check_finite(value: Any, *location: str | int) -> None:
    """That no number is infinite or NaN: a trial's key is JSON, which has neither."""
    if isinstance(value, Mapping):
        value = value.items()
    elif isinstance(value, list | tuple):
        value = enumerate(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise LocatedError(f"expected a finite number, got {value!r}", *location)
    else:
        return
    for key, inner in value:
        _check_finite(inner, *location, key)


def _check_policies(study: Study) -> None:
    for index, loss in enumerate(study.losses):
        for axis in ("positives", "negatives"):
            for name in getattr(loss, axis) or []:
                discovery.find(f"dml.miners.{axis}", name)
            if bool(loss.positives or study.positives) != bool(loss.negatives or study.negatives):
                raise LocatedError("positives and negatives go together: give both or neither", "losses", index)
    if bool(study.positives) != bool(study.negatives):
        given = "positives" if study.positives else "negatives"
        raise LocatedError("positives and negatives go together: give both or neither", given)
    if (study.positives or study.miner.name) and not any(loss.uses_tuples for loss in study.losses):
        ignoring = ", ".join(loss.name for loss in study.losses)
        raise LocatedError(
            f"no loss of this study uses tuples ({ignoring}): remove positives, negatives and miner", "losses"
        )


def _check_grid(study: Study) -> None:
    """That each point of the grid makes a network and each loss's own settings."""
    fixed = {key for point in itertools.chain.from_iterable(study.axes.values()) for key in grid.of("loss", point)}
    for index, loss in enumerate(study.losses):
        if both := fixed & set(loss.settings):
            raise LocatedError(
                f"loss.{min(both)} varies (`grid`): remove it from the settings of the loss",
                *("losses", index, "settings", min(both)),
            )
    for grid_point, (index, loss) in itertools.product(grid.combinations(study.axes), enumerate(study.losses)):
        try:
            training, section = _sections_at(study, loss, grid_point)
        except ValueError as error:
            raise LocatedError(_message(error), *_culprit(study, loss, grid_point)) from error
        try:
            section.check(training.normalize)
        except ValueError as error:
            problem = f"{error} (training.normalize is {str(training.normalize).lower()})"
            raise LocatedError(problem, *(("grid",) if grid_point else ("losses", index))) from error


def _sections_at(study: Study, loss: LossSection, grid_point: Mapping[str, Any]) -> tuple[TrainingSection, LossSection]:
    """The sections `training` and of one loss with what varies filled in, checked; `miner` is checked too."""
    grid.miner_with(study.miner, grid_point)
    section = grid.loss_with(loss, grid_point) if grid.loss_settings(loss, grid_point) else loss
    return grid.changed(study.training, grid.of("training", grid_point)), section


def _culprit(study: Study, loss: LossSection, grid_point: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The value of an axis that is wrong whatever the other axes' values; without one, the whole section."""
    for axis, points in study.axes.items():
        for position, point in enumerate(points):
            if point.items() <= grid_point.items():
                try:
                    _sections_at(study, loss, point)
                except ValueError:
                    return "grid", axis, position
    return ("grid",)


def _check_repetitions(study: Study, cells: list[Cell]) -> None:
    for axis in ("seeds", "positives", "negatives"):
        values = getattr(study, axis)
        if len(set(values)) < len(values):
            raise LocatedError(f"{values} contains a value twice", axis)
    filters = [part.text if part else section.name for section in study.filters for part in [section.part()]]
    if len(set(filters)) < len(filters):
        raise LocatedError(
            f"two of them would be the same cell ({', '.join(filters)}): give them other settings", "filters"
        )
    pairs = [(noise.label, rate) for noise in study.noise for rate in noise.rates]
    for label, rate in pairs:
        if pairs.count((label, rate)) > 1:
            raise LocatedError(f"{label!r} is listed twice with the rate {rate:g}: set `id` of each", "noise")
    for index, loss in enumerate(study.losses):
        if loss in study.losses[:index]:
            raise LocatedError(f"{loss.name!r} is listed twice, with the same settings", "losses", index)
    first: dict[str, Cell] = {}
    for cell in cells:
        if first.setdefault(cell.name, cell) != cell:
            raise LocatedError(f"two of them would be the same cell {cell.name!r}: give them other settings", "losses")
    labels = [dataset.label for dataset in study.datasets]
    if len({label.casefold() for label in labels}) < len(labels):
        problem = f"two are called the same, or nearly, as disks may ignore case ({', '.join(labels)})"
        raise LocatedError(f"{problem}: set `id` of each", "datasets")


def _check_taken(study: Study, cells: list[Cell]) -> None:
    """That some cell has each setting that varies."""
    taken = {key for cell in cells for key in cell.grid_point}
    for axis, points in study.axes.items():
        for key in dict.fromkeys(itertools.chain.from_iterable(points)):
            if key not in taken:
                what, names = "loss", sorted({loss.name for loss in study.losses})
                settings = {
                    name for loss in names for name in discovery.settings_of(discovery.find("dml.losses", loss))
                }
                if key.startswith("miner."):
                    pairs = {(c.positives, c.negatives) for c in cells if c.positives and c.negatives}
                    what, names = "pair of policies", sorted(" + ".join(map(str, pair)) for pair in pairs)
                    settings = set().union(*(dml.miners.settings_of_pair(str(p), str(n)) for p, n in pairs))
                choices = discovery.suggestion(key.partition(".")[2], sorted(settings))
                listed = ", ".join(names) or "none"
                raise LocatedError(f"no {what} of this study ({listed}) has the setting {key!r}{choices}", "grid", axis)


def _check_miner(study: Study, cells: list[Cell]) -> None:
    sections = {
        repr(grid.of("miner", cell.grid_point)): grid.miner_with(study.miner, cell.grid_point) for cell in cells
    }
    pairs = dict.fromkeys((c.positives, c.negatives) for c in cells if c.positives)
    for miner in sections.values():
        for positives, negatives in pairs:
            try:
                dml.miners.build(positives=positives, negatives=negatives, **miner.settings)
            except (TypeError, ValueError) as error:
                pair = f"positives {positives!r} with negatives {negatives!r}"
                raise LocatedError(f"{pair} and the settings {miner.settings}: {error}", "miner") from error


def _check_filters(study: Study, cells: list[Cell]) -> None:
    """That filters act for at least half of the steps."""
    for cell in cells:
        if cell.filter is not None:
            settings = {
                **discovery.defaults_of(discovery.find("dml.filters", cell.filter.name)),
                **cell.filter.settings,
            }
            training, warm_up = study.training_of(cell), settings.get("warm_up", 0)
            steps = max(extremes(training.search["steps"]) if "steps" in training.search else [training.steps])
            if 2 * warm_up > steps:
                problem = f"warm_up: expected at most half of the {steps} steps, so that it can act, got {warm_up}"
                raise LocatedError(f"{cell.filter.name}: {problem}", "filters")


def _check_losses(study: Study, cells: list[Cell]) -> None:
    """That a filter can watch its cell's loss, and that the last step of a trial uses the loss's memory."""
    for cell in cells:
        first = {key: extremes(space)[0] for key, space in cell.loss.search.items()}
        settings = {**first, **cell.loss.settings, **grid.of("loss", cell.grid_point)}
        watches = cell.filter is not None and hasattr(discovery.find("dml.filters", cell.filter.name), "watch")
        if settings.get("memory") is None and not watches:
            continue
        where = "losses", next(index for index, loss in enumerate(study.losses) if loss.name == cell.loss.name)
        training = study.training_of(cell)
        loss = dml.losses.build_for(cell.loss.name, settings, **SAMPLE, normalize=training.normalize)
        if cell.filter is not None and watches:
            try:
                dml.filters.build_for(cell.filter.name, cell.filter.settings, **SAMPLE).watch(loss)  # type: ignore[attr-defined]
            except ValueError as error:
                raise LocatedError(str(error), *where) from error
        steps = max(extremes(training.search["steps"]) if "steps" in training.search else [training.steps])
        if (memory := getattr(loss, "memory", None)) is not None and memory.warm_up >= steps:
            problem = f"memory: warm_up: expected fewer than the {steps} steps, got {memory.warm_up}"
            raise LocatedError(f"{cell.loss.name}: {problem}", *where)


def _check_objective(study: Study) -> None:
    if study.search.objective not in study.evaluation.metrics:
        raise LocatedError(
            f"{study.search.objective!r} is not in evaluation.metrics: {', '.join(study.evaluation.metrics)}",
            *("search", "objective"),
        )
    for index, dataset in enumerate(study.datasets):
        if study.search.level is not None and study.search.level not in dataset.evaluate_on:
            raise LocatedError(
                f"search.level is {study.search.level!r}, which datasets.{dataset.label}.evaluate_on does not "
                f"contain: {', '.join(dataset.evaluate_on)}",
                *("datasets", index),
            )


def _check_vectors(study: Study, cells: list[Cell], stated: Collection[str]) -> None:
    """That nothing is asked for which vectors in place of images do not have."""
    only_vectors = all(dataset.passes_on for dataset in study.datasets)
    for index, dataset in enumerate(study.datasets):
        if dataset.passes_on is None:
            continue
        if study.recipe in ("partial", "finetune"):
            raise LocatedError(
                f"source {dataset.name!r} has vectors, and no network to train: expected head, got {study.recipe}",
                "recipe",
            )
        for cell in {repr(cell.grid_point): cell for cell in cells}.values():
            training = grid.changed(study.training, grid.of("training", cell.grid_point))  # as stated
            stated_keys = {*stated, *grid.of("training", cell.grid_point)}
            other = "backbone" in stated_keys and training.backbone != dataset.passes_on and only_vectors
            if other or ("frozen" in stated_keys and not training.frozen):
                setting = f"backbone {training.backbone!r}" if other else "frozen: false"
                raise LocatedError(
                    f"source {dataset.name!r} has vectors, on which only a head is trained: remove {setting} from "
                    f"training, or name {dataset.passes_on!r}",
                    *("datasets", index),
                )
            try:
                grid.changed(training, {"frozen": True})
            except ValueError as error:
                raise LocatedError(f"source {dataset.name!r} has vectors: {_message(error)}", "training") from error


def _check_views(study: Study) -> None:
    """That images are mirrored only where their mirror images show the same classes."""
    for dataset in study.datasets if study.evaluation.views == "mirror" else ():
        if not dataset.mirrors:
            reason = f"source {dataset.name!r} has digits, letters or vectors" if dataset.mirror else "mirror: false"
            raise LocatedError(
                f"the mirror images of dataset {dataset.label!r} may show other classes ({reason}): expected views: one"
                " (for all datasets of this study), got mirror",
                *("evaluation", "views"),
            )


def _check_given(study: Study) -> None:
    """That datasets have the labels as given that a noise model observes. Sources of other packages may have them."""
    for index, noise in enumerate(study.noise):
        for dataset in study.datasets:
            source = sources.find(dataset.name)
            takes_given = getattr(source, "takes_given", discovery.is_foreign(dataset.name))
            if noise.by_given and not takes_given:
                raise LocatedError(
                    f"noise {noise.name!r} trains on labels as given, which source {dataset.name!r} does not have",
                    *("noise", index),
                )


def _trainings(study: Study, cells: list[Cell]) -> list[tuple[TrainingSection, str]]:
    """Each different section `training` of the cells, and a loss that compares samples with it; empty: none does."""
    trainings: dict[tuple[str, str | None], tuple[TrainingSection, str]] = {}
    for cell in cells:
        key = repr(grid.of("training", cell.grid_point)), study.dataset(cell.dataset).passes_on
        training, comparing = trainings.get(key) or (study.training_of(cell), "")
        trainings[key] = training, comparing or (cell.loss.name if _compares(cell) else "")
    return list(trainings.values())


def _compares(cell: Cell) -> bool:
    """Whether a cell trains on pairs of samples. What a loss of another package does without a miner is unknown."""
    if cell.positives or cell.miner:
        return True
    name, _ = losses.innermost(cell.loss.name, cell.loss.settings)
    return not discovery.is_foreign(name) and not getattr(discovery.find("dml.losses", name), "per_sample", False)


def _check_training(study: Study, training: TrainingSection, comparing: str) -> None:
    sampler = training.batch.sampler
    if comparing and batches.find(sampler).bounded:
        for key, what in (("classes", "negative"), ("per_class", "positive")):
            if getattr(training.batch, key) == 1:
                raise LocatedError(
                    f"{key} is 1: such a batch has no {what} pair, which the loss {comparing!r} needs: "
                    "expected at least 2",
                    *("training", "batch"),
                )
    if training.init_from is not None and study.name and training.init_from.study == study.name:
        raise LocatedError("a study cannot start from its own models", "training", "init_from")
    _check_workers(study, training)
    augmentation = augment.build(training.augment, **{"channels": 3, **training.augment_settings})
    for dataset in study.datasets if getattr(augmentation, "mirrors", False) else ():
        if not dataset.mirror:
            raise LocatedError(
                f"{training.augment} mirrors half of the training images, but dataset {dataset.label!r} has mirror: "
                "false: expected random_resized_crop with settings: {mirror: false}, or another one",
                *("training", "augment"),
            )
    for index, dataset in enumerate(study.datasets):
        if batches.find(sampler).needs_coarse and "coarse" not in dataset.levels:
            names = discovery.names("dml.data.batches")
            others = [name for name in names if not batches.find(name).needs_coarse]
            raise LocatedError(
                f"training.batch.sampler is {sampler!r}, which needs 'coarse' labels; source "
                f"{dataset.name!r} has only {', '.join(dataset.levels)}. Choices: {', '.join(others)}",
                *("datasets", index),
            )


def _check_workers(study: Study, training: TrainingSection) -> None:
    """Each worker has an equal share of the batch, and a GPU of its own or none."""
    images, workers, resources = training.spec().batch.size, training.workers, study.resources
    if images % workers:
        raise LocatedError(
            f"training.workers: a batch of {images} images cannot be shared equally by {workers} workers", "training"
        )
    if workers > 1 and 0 < resources.gpus_per_trial < workers:
        raise LocatedError(
            f"training.workers is {workers}, one GPU each: expected resources.gpus_per_trial {workers} (or 0, for "
            f"processes on CPUs), got {resources.gpus_per_trial:g}",
            *("resources", "gpus_per_trial"),
        )


def _message(error: ValueError) -> str:
    """The message of an error; of pydantic's, that of its first problem."""
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        text = problem["msg"].removeprefix("Value error, ")
        given = "" if problem["type"] == "value_error" else f", got {problem['input']!r}"
        return f"{where}: {text}{given}" if where else text
    return str(error)
