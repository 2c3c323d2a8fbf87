"""The sections `evaluation` and `published`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dml import evaluation
from dml.config.terms import EvaluationSet, Level, Name, StudySection
from dml.counting import bytes_of
from dml.evaluation.compressed import FEWEST_CHECKED, check_depth
from dml.protocols import ClusteringMetric, RetrievalMetric
from dml.types import EvaluationSpec

OF_COMPRESSED = ("candidates", "checked", "memory", "probes", "queries")  # settings of a compressed search only


class EvaluationSection(StudySection):
    """What is measured, on clean labels."""

    metrics: list[Name] = Field(
        list(EvaluationSpec.metrics),
        min_length=1,
        description="`recall@K`, `precision@K`, `map@r`, `map`, `nmi`, `nmi+`, `ami`, `f1`, `pair_auc`",
    )
    every: int | None = Field(
        EvaluationSpec.every,
        ge=1,
        description="steps between evaluations; none: only at the end (with `search.stop: best`, a tenth of the steps)",
    )
    sets: list[EvaluationSet] = Field(
        ["test"],
        min_length=1,
        description="`test`: classes never trained on; `seen`: held-out images of training classes; `train`: training "
        "images, by their clean labels; the report compares methods on the first",
    )
    keep_embeddings: bool = Field(
        EvaluationSpec.keep_embeddings, description="save the embeddings of confirmed trials, which the report plots"
    )
    keep_start_embeddings: bool = Field(
        EvaluationSpec.keep_start_embeddings, description="save those of the network before its first step too"
    )
    clusters: list[Annotated[int, Field(ge=1)]] = Field(
        [],
        description="further numbers of clusters for `nmi`, `ami` and `f1`, beside the number of classes, of confirmed "
        "trials: `[30]` gives `nmi@30`",
    )
    restarts: int = Field(EvaluationSpec.restarts, ge=1, description="runs of k-means; the cheapest one is scored")
    keep_per_query: bool = Field(
        EvaluationSpec.keep_per_query,
        description="save each query's scores of confirmed trials, to compare methods over queries",
    )
    over_clustering: int = Field(EvaluationSpec.over_clustering, ge=1, description="clusters per class for `nmi+`")
    nmi_average: Literal["arithmetic", "geometric"] = Field(
        "arithmetic", description="mean of the two entropies in NMI; geometric: as in Le & Odobez"
    )
    clustering_start: Literal["kmeans++", "random"] = Field(
        "kmeans++", description="first centres of k-means; random: as the papers' evaluations start"
    )
    search: Literal["exact", "compressed"] = Field(
        "exact",
        description="compressed: an index on disk, exact distances of its candidates, k-means by mini-batches",
    )
    candidates: int = Field(EvaluationSpec.candidates, ge=2, description="of a compressed search, for each query")
    probes: int = Field(EvaluationSpec.probes, ge=1, description="lists of the index that a query searches")
    queries: int | None = Field(EvaluationSpec.queries, ge=1, description="random queries; none: every image is one")
    checked: int = Field(
        EvaluationSpec.checked, ge=FEWEST_CHECKED, description="queries that are also searched exactly"
    )
    memory: str = Field(EvaluationSpec.memory, description="bound on the memory of a compressed search")

    @model_validator(mode="after")
    def _check(self) -> EvaluationSection:
        for name in self.metrics:
            evaluation.check_metric(name)
        parts, given = [evaluation.metrics.build(name) for name in self.metrics], ", ".join(self.metrics)
        if len(set(self.clusters)) < len(self.clusters):
            raise ValueError(f"clusters: {self.clusters} contains a number twice")
        if self.clusters and not any(isinstance(part, ClusteringMetric) and not part.own_clusters for part in parts):
            raise ValueError(f"clusters: expected a score of a clustering in metrics, such as nmi, got {given}")
        if self.keep_per_query and not any(isinstance(part, RetrievalMetric) for part in parts):
            raise ValueError(f"keep_per_query: expected a score per query in metrics, got {given}")
        self._check_search(dict(zip(self.metrics, parts, strict=True)))
        return self

    def _check_search(self, parts: dict[str, Any]) -> None:
        """Check the settings that belong to one kind of search only."""
        bytes_of(self.memory)
        if self.search == "exact":
            own = {name: type(self).model_fields[name].default for name in OF_COMPRESSED}
            alone = [name for name, default in own.items() if getattr(self, name) != default]
            if alone:
                raise ValueError(f"{', '.join(alone)}: only for `search: compressed`, got search: exact")
            return
        for name, part in parts.items():
            check_depth(name, part, 1, self.candidates)
        for key, plain in (("keep_per_query", False), ("restarts", 1), ("clustering_start", "kmeans++")):
            if getattr(self, key) != plain:
                raise ValueError(f"{key}: a compressed search has only {plain}, got {getattr(self, key)}")
        if self.queries is not None and self.queries < self.checked:
            raise ValueError(f"queries: expected at least {self.checked} (checked), got {self.queries}")

    def spec(self, phase: str) -> EvaluationSpec:
        """The record that a trial takes: a tuning trial is measured on validation classes only."""
        given = self.model_dump()
        given |= {"metrics": tuple(self.metrics), "sets": tuple(self.sets), "clusters": tuple(self.clusters)}
        if phase == "tune":
            given |= {"sets": ("validation",), "clusters": ()}
            given |= dict.fromkeys(("keep_embeddings", "keep_start_embeddings", "keep_per_query"), False)
        return EvaluationSpec(**given)


class PublishedSection(StudySection):
    """Which published rows are shown beside which cells."""

    paper: Name = Field(description="of the row: a folder in `papers`, whose `published.csv` has it")
    table: str = Field(description="of the row")
    labels: str = Field(description="of the row")
    method: str = Field(description="of the row")
    dataset: str = Field(description="of the row")
    match: dict[str, Any] = Field({}, description="attributes of the cells; without `rate`, at rate 0")
    set: EvaluationSet = Field("test", description="set of the compared score")
    level: Level = Field("fine", description="level of the compared score")
