"""A whole study: its sections, the checks between them, and its cells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from dml import discovery, miners
from dml.config.data import DatasetSection, NoiseSection
from dml.config.errors import explain
from dml.config.evaluation import EvaluationSection, PublishedSection
from dml.config.parts import LossSection, MinerSection
from dml.config.search import ResourcesSection, SearchSection
from dml.config.terms import Name, StudySection, as_mapping, extremes
from dml.config.training import TrainingSection
from dml.data import batches
from dml.types import Cell, Part


class ConfigError(ValueError):
    """A study that cannot run, with every problem in one message."""


class Study(StudySection):
    """Everything a study says. Each admissible combination of its axes is a cell."""

    title: str
    description: str = ""
    datasets: list[Annotated[DatasetSection, as_mapping("source")]] = Field(min_length=1)
    noise: list[Annotated[NoiseSection, as_mapping("model")]] = Field(
        default_factory=lambda: [NoiseSection()], min_length=1
    )
    losses: list[Annotated[LossSection, as_mapping("name")]] = Field(min_length=1)
    positives: list[Name] = []
    negatives: list[Name] = []
    miner: MinerSection = Field(default_factory=MinerSection)
    seeds: list[int] = Field([0], min_length=1)
    search: SearchSection = Field(default_factory=SearchSection)
    training: TrainingSection = Field(default_factory=TrainingSection)
    evaluation: EvaluationSection = Field(default_factory=EvaluationSection)
    resources: ResourcesSection = Field(default_factory=ResourcesSection)
    published: list[PublishedSection] = []
    name: str = Field("", exclude=True)  # the file's stem

    @field_validator("positives", "negatives")
    @classmethod
    def _find(cls, names: list[str], info: ValidationInfo) -> list[str]:
        for name in names:  # here, so that the error has the line
            discovery.find(f"dml.miners.{info.field_name}", name)
        return names

    @model_validator(mode="after")
    def _check(self) -> Study:
        self._check_policies()
        self._check_miner()
        self._check_repetitions()
        self._check_losses()
        self._check_objective()
        self._check_devices()
        self._check_levels()
        return self

    def _check_policies(self) -> None:
        for axis in ("positives", "negatives"):
            for name in [name for loss in self.losses for name in getattr(loss, axis) or []]:
                discovery.find(f"dml.miners.{axis}", name)
        if bool(self.positives) != bool(self.negatives):
            raise ValueError("positives and negatives go together: give both or neither")
        if (self.positives or self.miner.name) and not any(loss.uses_tuples for loss in self.losses):
            ignoring = ", ".join(loss.name for loss in self.losses)
            raise ValueError(f"no loss of this study uses tuples ({ignoring}): remove positives, negatives and miner")
        if self.training.batch.per_class == 1 and any(c.positives or c.miner for c in self._combinations()):
            raise ValueError("training.batch.per_class is 1: with one sample per class there is no positive to choose")

    def _check_miner(self) -> None:
        searched = [(key, value) for key, space in self.miner.search.items() for value in extremes(space)]
        first = {key: extremes(space)[0] for key, space in self.miner.search.items()}
        variants = [{**first, **self.miner.settings, **trial} for trial in ({}, *({k: v} for k, v in searched))]
        pairs = dict.fromkeys((c.positives, c.negatives) for c in self._combinations() if c.positives)
        for (positives, negatives), settings in itertools.product(pairs, variants):
            try:
                miners.build(positives=positives, negatives=negatives, **settings)
            except (TypeError, ValueError) as error:
                pair = f"positives {positives!r} with negatives {negatives!r}"
                raise ValueError(f"miner: {pair} and the settings {settings}: {error}") from error

    def _check_repetitions(self) -> None:
        for axis in ("seeds", "positives", "negatives"):
            values = getattr(self, axis)
            if len(set(values)) < len(values):
                raise ValueError(f"{axis}: {values} contains a value twice")
        pairs = [(noise.model, rate) for noise in self.noise for rate in noise.rates]
        for model, rate in pairs:
            if pairs.count((model, rate)) > 1:
                raise ValueError(f"noise: {model!r} is listed twice with the rate {rate:g}")
        first: dict[str, Cell] = {}
        for cell in self._combinations():
            if first.setdefault(cell.name, cell) != cell:
                raise ValueError(f"losses: two of them would be the same cell {cell.name!r}: give them other settings")
        labels = [dataset.label for dataset in self.datasets]
        if len(set(labels)) < len(labels):
            raise ValueError(f"datasets: two have the same name ({', '.join(labels)}): set `name` of each")

    def _check_losses(self) -> None:
        for loss in self.losses:
            try:
                loss.check(self.training.normalize)
            except ValueError as error:
                raise ValueError(f"{error} (training.normalize is {str(self.training.normalize).lower()})") from error

    def _check_objective(self) -> None:
        if self.search.objective not in self.evaluation.metrics:
            raise ValueError(
                f"search.objective is {self.search.objective!r}, which evaluation.metrics does not contain: "
                f"{', '.join(self.evaluation.metrics)}"
            )
        if self.search.pruner != "none" and self.evaluation.every is None:
            raise ValueError(
                f"search.pruner is {self.search.pruner!r}, but trials are only evaluated at their end: expected a "
                "number of steps in evaluation.every"
            )

    def _check_devices(self) -> None:
        images, devices = self.training.spec().batch.size, self.training.devices
        if images % devices:
            raise ValueError(
                f"training.devices: a batch of {images} images cannot be shared equally by {devices} devices"
            )
        if 0 < self.resources.gpus_per_trial < devices:
            raise ValueError(
                f"training.devices is {devices}, one GPU each: expected resources.gpus_per_trial {devices} (or 0, for "
                f"processes on CPUs), got {self.resources.gpus_per_trial:g}"
            )

    def _check_levels(self) -> None:
        sampler = self.training.batch.sampler
        for dataset in self.datasets:
            if batches.find(sampler).needs_coarse and "coarse" not in dataset.levels:
                names = discovery.names("dml.data.batches")
                others = [name for name in names if not batches.find(name).needs_coarse]
                raise ValueError(
                    f"training.batch.sampler is {sampler!r}, which needs 'coarse' labels; source "
                    f"{dataset.source!r} has only {', '.join(dataset.levels)}. Choices: {', '.join(others)}"
                )
            if self.search.level is not None and self.search.level not in dataset.evaluate_on:
                raise ValueError(
                    f"search.level is {self.search.level!r}, which datasets.{dataset.label}.evaluate_on does not "
                    f"contain: {', '.join(dataset.evaluate_on)}"
                )

    def _policies(self, loss: LossSection) -> list[tuple[str | None, str | None]]:
        positives, negatives = loss.positives or self.positives, loss.negatives or self.negatives
        if not loss.uses_tuples or not positives:
            return [(None, None)]
        return list(itertools.product(positives, negatives))

    def _combinations(self) -> Iterator[Cell]:
        foreign = Part(self.miner.name, dict(self.miner.settings), dict(self.miner.search)) if self.miner.name else None
        for dataset, noise, loss in itertools.product(self.datasets, self.noise, self.losses):
            for rate, (positive, negative) in itertools.product(noise.rates, self._policies(loss)):
                miner = foreign if loss.uses_tuples else None
                if miner is not None:
                    positive = negative = None
                yield Cell(dataset.label, noise.model, rate, loss.part(), positive, negative, miner)

    def cells(self) -> list[Cell]:
        """Every admissible combination of dataset, noise, loss and policies, in the study's order, each once."""
        return list({cell.name: cell for cell in self._combinations()}.values())

    def dataset(self, name: str) -> DatasetSection:
        """The dataset of this name."""
        return next(d for d in self.datasets if d.label == name)


def load_study(path: Path | str) -> Study:
    """Read and check a study.

    Raises
    ------
    ConfigError : with one line per problem: `file:line: key: what was expected, what came, what can be chosen`.
    """
    path = Path(path)
    if not path.is_file():
        found = sorted(p.stem for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        raise ConfigError(f"{path}: no such study{discovery.suggestion(path.stem, found)}")
    text = path.read_text(encoding="utf-8")
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, got {type(content).__name__}")
    try:
        return Study(**{**content, "name": path.stem})
    except ValidationError as error:
        raise ConfigError(explain(path, text, Study, error)) from None
