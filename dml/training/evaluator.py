"""Scores of a trial's network. Test images count by clean labels, validation images by those that choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from dml import evaluation
from dml.evaluation import metrics
from dml.files import replacing
from dml.models import EmbeddingNetwork
from dml.protocols import Augmentation, RetrievalMetric
from dml.training.data import TrialData, has_queries
from dml.training.process import not_finite
from dml.types import TrialSpec


class Evaluator:
    """Embeds a trial's evaluation sets and scores the embeddings."""

    def __init__(
        self, spec: TrialSpec, data: TrialData, model: EmbeddingNetwork, augment: Augmentation, device: torch.device
    ):
        self._spec, self._data = spec, data
        self._model, self._augment, self._device = model, augment, device
        self.sets = ("validation",) if spec.phase == "tune" else spec.evaluation.sets
        self._queries: dict[str, pd.DataFrame] = {}  # by set, of the latest evaluation: `Scores.per_query`
        self._keeps = spec.phase == "confirm" and any(
            isinstance(metrics.build(name), RetrievalMetric) for name in spec.evaluation.metrics
        )

    def scores(self, step: int) -> dict[str, float]:
        """Scores by `<set>/<level>/<metric>`. Raises TrainingError."""
        settings = self._spec.evaluation
        scores: dict[str, float] = {}
        self._queries = {}
        for name in self.sets:
            rows = self._data.evaluation_rows(name)
            embeddings = self.embed(rows)
            if not torch.isfinite(embeddings).all():
                raise not_finite("the embeddings", f"by step {step}", self._spec)
            scored = evaluation.evaluate(
                embeddings,
                {level: self._data.scored_labels(name, level, rows) for level in self._spec.dataset.evaluate_on},
                metrics=list(settings.metrics),
                normalize=self._spec.training.normalize,
                over_clustering=settings.over_clustering,
                nmi_average=settings.nmi_average,
                per_query=self._keeps,
                **self._roles(rows),
            )
            scores |= {f"{name}/{key}": float(value) for key, value in scored.items()}
            if scored.per_query is not None:
                self._queries[name] = scored.per_query.assign(index=rows[scored.per_query["index"]])
        return scores

    def embed(self, rows: np.ndarray) -> Tensor:
        """Embeddings (m, D) float32 of the images at `rows` (m,), of the views that are evaluated."""
        return evaluation.embed_images(
            self._model,
            self._data.packed.images,
            rows,
            augment=self._augment,
            device=self._device,
            precision=self._spec.training.precision,
            views=self._spec.evaluation.views,
        )

    def save_embeddings(self, path: Path) -> None:
        """Save the embeddings of all sets as `.npz`, with their clean labels and their rows in the packed array."""
        rows = [self._data.evaluation_rows(name) for name in self.sets]
        together = np.concatenate(rows)
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(
                file,
                embeddings=self.embed(together).cpu().numpy(),
                index=together.astype(np.int64),
                labels_fine=self._data.labels("fine", together),
                labels_coarse=self._data.labels("coarse", together),
                set=np.repeat(self.sets, [len(part) for part in rows]),
            )

    def save_classes(self, path: Path) -> None:
        """Save each class's scores of the latest evaluation as `.npz`; nothing without a score per query."""
        if self._queries:
            arrays = {key: a for name, table in self._queries.items() for key, a in _by_class(name, table).items()}
            with replacing(path) as temporary, open(temporary, "wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    def _roles(self, rows: np.ndarray) -> dict[str, Any]:
        """Query and gallery masks (m,) and cameras (m,), if the split has queries."""
        split = self._data.split
        if not has_queries(split):
            return {}
        cameras = {"cameras": self._data.packed.index["camera"].to_numpy()[rows]}
        roles = split.set_index("index").loc[rows, "final"].to_numpy()
        if not (roles == "query").any():
            return cameras
        return {"queries": roles == "query", "gallery": roles == "gallery", **cameras}


def _by_class(name: str, table: pd.DataFrame) -> dict[str, np.ndarray]:
    """The table of one set as arrays of each class's means, by score key."""
    arrays = {}
    for level, classes in evaluation.per_class(table).groupby("level"):
        scored = classes[classes["queries"] > classes["excluded"]]
        arrays[f"{name}/{level}/class"] = scored["label"].to_numpy(dtype=np.int64)
        arrays[f"{name}/{level}/queries"] = (scored["queries"] - scored["excluded"]).to_numpy(dtype=np.int64)
        for metric in scored.columns.drop(["level", "label", "queries", "excluded"]):
            arrays[f"{name}/{level}/{metric}"] = scored[metric].to_numpy(dtype=np.float32)
    return arrays
