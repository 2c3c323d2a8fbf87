"""A whole study: its sections, its cells, and what a method in closed form takes of the training."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

import dml
from dml import discovery
from dml.config import grid as grids
from dml.config import recipes
from dml.config.compare import ComparisonSection
from dml.config.data import NETWORK, ClassSplits, DatasetSection, NoiseName, NoiseSection, SourceName
from dml.config.errors import LocatedError, first_names, renamed
from dml.config.evaluation import AuditSection, EvaluationSection, ReferenceSection
from dml.config.parts import TOLD, FilterName, FilterSection, LossName, LossSection, MinerSection
from dml.config.search import ResourcesSection, SearchSection
from dml.config.terms import Seed, StudySection, as_mapping
from dml.config.training import TrainingSection
from dml.types import Cell, Name, Part, ScoreKey, TrainingSpec, part_of

OF_FEATURES = ("backbone", "backbone_settings", "init_from", "frozen", "frozen_precision")
OF_IMAGES = ("augment", "augment_settings", "precision", "device")
DECIDING_FEATURES = (*OF_FEATURES, *OF_IMAGES, "embedding_size", "normalize")
"""The settings of the training that decide the features, and what is made of them."""

FREE = "free"
"""The method that chooses among layers, too."""

PIXELS = "pixels"
"""The backbone where nothing is pretrained: what a network with random weights computes is no baseline."""


def takes(loss: str, setting: str) -> bool:
    """Whether a dotted setting of the study, such as `training.steps`, has an effect on a method."""
    room, _, rest = setting.partition(".")
    return dml.losses.closed_form_of(loss) is None or (
        room == "training" and rest.partition(".")[0] in DECIDING_FEATURES
    )


def training_of(loss: str, training: TrainingSpec, images: bool) -> TrainingSpec:
    """The training of a trial with a loss: as given, or for a method in closed form only its head's start."""
    kind = dml.losses.closed_form_of(loss)
    if kind is None:
        return training
    of_features = {name: getattr(training, name) for name in DECIDING_FEATURES}
    init_from = None if training.init_from is None else replace(training.init_from, head="new")
    if training.train_from is not None:  # such trials start from the features of the whole backbone
        of_features |= {"frozen": True, "frozen_precision": TrainingSpec.frozen_precision}
    of_features |= {"init_from": init_from, "batch": training.batch, "steps": 0, "head_start": kind}
    if images and not (is_pretrained(training) or of_features["frozen"] or init_from):
        return TrainingSpec(**{**of_features, "backbone": PIXELS, "backbone_settings": {}})
    return TrainingSpec(**of_features, layers=kind == FREE and images and init_from is None)


def is_pretrained(training: TrainingSpec | TrainingSection) -> bool:
    """Whether the backbone has weights of its own."""
    return dml.models.find(training.backbone).statistics(**training.backbone_settings) is not None


DECIDING = (
    *("datasets", "noise", "losses", "positives", "negatives", "miner", "grid", "seeds", "search"),
    *("filters", "training", "evaluation", "class_splits"),
)
"""The sections that decide trials."""
CROP = "image_size"  # the setting of augmentations that crop


class Study(StudySection):
    """Everything a study says. Each admissible combination of its axes is a cell.

    Each section checks itself; `dml.config.loading.study_from` also checks that they go together.
    """

    title: str = Field(description="at the top of the report's page")
    description: str = Field("", description="below the title, also in the list of studies")
    recipe: recipes.Recipe | None = Field(None, description="fills what the study leaves open ([recipes](recipes.md))")
    datasets: list[Annotated[DatasetSection, as_mapping("name", SourceName | DatasetSection)]] = Field(
        min_length=1, description="names of sources, or mappings"
    )
    noise: list[Annotated[NoiseSection, as_mapping("name", NoiseName | NoiseSection)]] = Field(
        default_factory=lambda: [NoiseSection()],
        min_length=1,
        description="names of noise models, or mappings; by default only correct labels",
    )
    losses: list[Annotated[LossSection, as_mapping("name", LossName | LossSection)]] = Field(
        min_length=1, description="names of losses and of methods without training, or mappings"
    )
    filters: list[Annotated[FilterSection, as_mapping("name", FilterName | FilterSection)]] = Field(
        default_factory=lambda: [FilterSection()],
        min_length=1,
        description="names of filters, or mappings; every loss is combined with each; by default none",
    )
    positives: list[Annotated[Name, part_of("dml.miners.positives")]] = Field(
        [], description="policies, combined with each loss that uses tuples; none: every valid tuple of the batch"
    )
    negatives: list[Annotated[Name, part_of("dml.miners.negatives")]] = Field(
        [], description="policies, combined with each of the positives"
    )
    miner: MinerSection = Field(default_factory=MinerSection, description="settings shared by all pairs of policies")
    grid: dict[str, list[Any]] = Field({}, description="settings of training, miner and loss as further axes")
    seeds: list[Seed] = Field(
        [0], min_length=1, description="one confirmation per seed, which decides initial weights, batches and noise"
    )
    class_splits: ClassSplits = Field(
        1, description="how many choices of the classes that test; `{folds: 4}`: cross-validation over all classes"
    )
    search: SearchSection = Field(default_factory=SearchSection, description="how each cell is tuned")
    training: TrainingSection = Field(default_factory=TrainingSection, description="how a trial trains")
    evaluation: EvaluationSection = Field(default_factory=EvaluationSection, description="what is measured")
    resources: ResourcesSection = Field(default_factory=ResourcesSection, description="where trials run")
    reference_values: list[ReferenceSection] = Field([], description="rows of papers that are shown beside cells")
    compare: list[ComparisonSection] = Field([], description="comparisons of the study's own, which its page decides")
    audit: AuditSection | None = Field(None, description="audit the labels; none: only `dml audit` does")
    name: str = Field("", exclude=True)  # the file's stem
    _left_out: frozenset[str] = PrivateAttr(frozenset())  # names of cells

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, content: Any) -> Any:
        return recipes.fill(renamed(content)) if isinstance(content, dict) else content

    @field_validator("positives", "negatives")
    @classmethod
    def _find(cls, names: list[str], info: ValidationInfo) -> list[str]:
        for name in names:  # here, so that the error has the line
            discovery.check_name(f"dml.miners.{info.field_name}", name)
        return names

    @cached_property
    def axes(self) -> dict[str, list[dict[str, Any]]]:
        """The axes of `grid` by name: a list of values, each as dotted settings."""
        return grids.axes(self.grid)

    @property
    def digest(self) -> str:
        """Of the settings that decide trials: another title, comparison or figure does not change it."""
        deciding = self.model_dump(mode="json", include=set(DECIDING), exclude_defaults=True)
        for part, section in zip(self.filters, deciding.get("filters", []), strict=False):
            if part.settings.get("rate") == TOLD:  # as before there was another
                section |= {"settings": {key: value for key, value in part.settings.items() if key != "rate"}}
                section.pop("settings") if not section["settings"] else None
        search = {name: value for name, value in deciding.pop("search", {}).items() if name != "validation"}
        if self.chooses_by_observed:  # true labels were the default once: studies of then have the digest of then
            search["validation"] = self.search.validation
        deciding |= {"search": search} if search else {}
        return hashlib.sha256(json.dumps(first_names(deciding), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def chooses_by_observed(self) -> bool:
        """Whether wrong labels choose, at any noise rate, or divide the classes that fit from those that validate."""
        divided = self.search.tunes or self.search.protocol != "refit"
        return divided and any(self.search.chooses_by_observed(n.name, rate) for n in self.noise for rate in n.rates)

    @property
    def splits(self) -> int:
        """How many class splits each dataset has."""
        return self.class_splits if isinstance(self.class_splits, int) else self.class_splits.folds

    @property
    def folds(self) -> bool:
        """Whether the class splits are a cross-validation over all classes."""
        return not isinstance(self.class_splits, int)

    @property
    def blocks(self) -> list[int]:
        """What methods are compared over: seeds, or class splits if there are several."""
        return list(range(self.splits)) if self.splits > 1 else self.seeds

    @property
    def block(self) -> str:
        """The name of one of the `blocks`."""
        return "class split" if self.splits > 1 else "seed"

    def cells(self) -> list[Cell]:
        """Every admissible combination of the study's axes, in its order, each once."""
        return list({cell.name: cell for cell in self.combinations() if cell.name not in self._left_out}.values())

    def without(self, names: Collection[str]) -> Study:
        """The study without the cells of these names, and without the datasets that then have no cell."""
        reduced = self.model_copy()
        reduced._left_out = self._left_out | set(names)
        used = {cell.dataset for cell in reduced.cells()}
        return reduced.model_copy(update={"datasets": [d for d in self.datasets if d.label in used]})

    def combinations(self) -> Iterator[Cell]:
        """The cells in the study's order. A cell comes several times if it ignores a setting that varies."""
        variants = grids.combinations(self.axes)
        foreign = Part(self.miner.name, dict(self.miner.settings)) if self.miner.name else None
        for dataset, noise, loss in itertools.product(self.datasets, self.noise, self.losses):
            for rate, grid_point in itertools.product(noise.rates, variants):
                of_loss = grids.loss_settings(loss, grid_point)
                section = grids.loss_with(loss, grid_point) if of_loss else loss
                part = section.part()
                part = Part(part.name, {k: v for k, v in part.settings.items() if k not in of_loss}, part.search)
                miner = foreign if section.uses_tuples else None
                policies = loss.positives or self.positives, loss.negatives or self.negatives
                tuples = section.uses_tuples and policies[0]
                for positives, negatives in itertools.product(*policies) if tuples else [(None, None)]:
                    if miner is not None:
                        positives = negatives = None
                    of_miner = grids.miner_settings(positives, negatives, miner, grid_point)
                    taken = {"loss": of_loss, "miner": of_miner}
                    varied = {
                        key: value
                        for key, value in grid_point.items()
                        if (room := key.partition(".")[0]) not in taken or key.partition(".")[2] in taken[room]
                        if takes(loss.name, key)
                    }
                    for entry in self.filters:
                        filter_ = entry.part() if dml.losses.closed_form_of(loss.name) is None else None
                        yield Cell(dataset.label, noise.label, rate, part, positives, negatives, miner, varied, filter_)

    def training_of(self, cell: Cell) -> TrainingSection:
        """The section `training` with what varies filled in; on vectors, with the backbone that passes them on.

        Random crops have the size of the images that evaluation sees, unless the study sets another.
        """
        values, passes_on = grids.of("training", cell.grid_point), self.dataset(cell.dataset).passes_on
        if passes_on is not None:
            values = {k: v for k, v in values.items() if not k.startswith("backbone")}
            values |= {"backbone": passes_on, "backbone_settings": {}, "frozen": True}
        training, side = grids.changed(self.training, values), self.dataset(cell.dataset).side
        default = discovery.defaults_of(discovery.find("dml.data.augment", training.augment)).get(CROP)
        if side is None or default in (None, side) or CROP in training.augment_settings:
            return training
        return grids.changed(training, {"augment_settings": {**training.augment_settings, CROP: side}})

    def with_pixels(self) -> Study:
        """The study in which `resize: network` is the size and the filter that its networks' weights were trained for.

        Images are squashed to the square, not cropped as in that training: docs/networks.md says why.
        """
        unresolved = [index for index, dataset in enumerate(self.datasets) if dataset.resize == NETWORK]
        if not unresolved:
            return self
        trainings = [grids.changed(self.training, grids.of("training", p)) for p in grids.combinations(self.axes)]
        try:
            resize = dml.models.pixels_of([(training.backbone, training.backbone_settings) for training in trainings])
        except ValueError as error:
            message = f"{NETWORK}: {error}: expected a side in pixels, or {{side, interpolation, crop}}"
            raise LocatedError(message, "datasets", unresolved[0], "resize") from None
        datasets = list(self.datasets)
        for index in unresolved:
            datasets[index] = DatasetSection(**{**dict(datasets[index]), "resize": replace(resize, crop=None)})
        return self.model_copy(update={"datasets": datasets})

    def objective(self, dataset: str, part: str = "") -> str:
        """The score key of the objective on `part`, or on the first evaluated set: `test/fine/recall@1`."""
        level = self.search.level or self.dataset(dataset).evaluate_on[0]
        return str(ScoreKey(part or self.evaluation.sets[0], level, self.search.objective))

    def dataset(self, name: str) -> DatasetSection:
        """The dataset of this name."""
        return next(d for d in self.datasets if d.label == name)
