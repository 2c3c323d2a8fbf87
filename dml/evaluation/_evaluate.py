"""`evaluate`: neighbours, pairs and clusterings computed once for all metrics and label levels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from dml import discovery
from dml.arrays import host_array
from dml.evaluation._pairs import pair_counts
from dml.evaluation._retrieval import Retrieval
from dml.evaluation._scores import Scores
from dml.evaluation._vectors import Vectors, codes
from dml.evaluation.clustering import contingency
from dml.evaluation.kmeans import check_start, kmeans
from dml.evaluation.metrics._names import PACKAGE, check_metric, metric_part
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric
from dml.tensors import without_autocast


@without_autocast
def evaluate(
    embeddings: Any,
    labels: Any,
    metrics: Sequence[str] = ("recall@1", "map@r", "nmi"),
    *,
    normalize: bool = True,
    queries: Any = None,
    gallery: Any = None,
    cameras: Any = None,
    backend: str = "auto",
    approximate: bool = False,
    nmi_average: str = "arithmetic",
    over_clustering: int = 10,
    clusters: Sequence[int | None] | None = None,
    clustering_start: str = "kmeans++",
    restarts: int = 1,
    seed: int = 0,
    keep: str | Path | None = None,
    device: torch.device | str | None = None,
) -> Scores:
    """Score embeddings. Distances are Euclidean.

    Parameters
    ----------
    embeddings : float (n, D), tensor or array.
    labels : integers (n,), or several levels of them by name, `{"fine": ..., "coarse": ...}`.
    metrics : names as in `metric_names()`, such as `recall@1`, `map@r` and `nmi`.
    normalize : L2-normalise first; k-means is then spherical. Use the setting of the training.
    queries, gallery : bool (n,), the rows that are queries and those that are searched; None: all. A query never finds
        itself.
    cameras : integers (n,). Gallery rows of the query's class and camera are ignored (Market-1501, CUHK03). A negative
        number is an unknown camera, different from all others.
    backend : of the search and of k-means: `auto`, `faiss` or `torch`.
    approximate : search an inverted file (faiss). `approximate_recall` is the share of the neighbours that it found,
        on up to 1000 queries.
    nmi_average : `arithmetic` or `geometric`, for `nmi`, `nmi+` and `ami`.
    over_clustering : clusters for each class, for `nmi+`.
    clusters : numbers of clusters for `nmi`, `ami` and `f1` instead of the number of classes, which None in the list
        denotes; keys are `nmi@100`, and `nmi` for None.
    clustering_start : `kmeans++`, which finds separate clusters; or `random`, as in the papers' scripts, which misses
        some of them and gives lower scores.
    restarts : runs of k-means; the one with the lowest cost is scored.
    seed : of k-means and of the approximate search.
    keep : `"return"`: set `Scores.per_query`; a path: also write it there, as Parquet.
    device : where to compute; None: where the embeddings are.

    Returns
    -------
    A dict from the metric's name (with several levels `<level>/<metric>`) to its value. Retrieval metrics are means
    over the queries that have a relevant row, NaN if none has; metrics of pairs are over all pairs, also with
    `approximate`, and NaN without pairs of both kinds. Clusterings are of all rows, also with `queries` or `gallery`.

    Raises
    ------
    ValueError : an unknown metric, backend, average or start; wrong shapes; no rows; rows with NaN (the message lists
        them).
    """
    _check_options(metrics, clusters, clustering_start, restarts, keep, approximate, backend)
    parts = {name: metric_of(name, {"average": nmi_average, "over_clustering": over_clustering}) for name in metrics}
    retrieved = {name: part for name, part in parts.items() if isinstance(part, RetrievalMetric)}
    clustered = {name: part for name, part in parts.items() if isinstance(part, ClusteringMetric)}
    paired = {name: part for name, part in parts.items() if isinstance(part, PairMetric)}
    vectors = Vectors(embeddings, normalize, device)
    n = len(vectors)
    levels = labels if isinstance(labels, Mapping) else {"": labels}
    if not levels:
        raise ValueError("labels: expected at least one level, got an empty mapping")
    coded = {level: codes(values, n, f"labels {level}".strip()) for level, values in levels.items()}
    scores = Scores()

    def key(level: str, name: str) -> str:
        return f"{level}/{name}" if isinstance(labels, Mapping) else name

    if retrieved or keep is not None:
        retrieval = Retrieval(vectors, coded, queries, gallery, cameras, backend, approximate, seed)
        values = retrieval.values(retrieved)
        for level, right in retrieval.relevance.items():
            counted = right.positives > 0
            scores.counts[level] = {"queries": len(counted), "excluded": int((~counted).sum())}
            for name in retrieved:
                scores[key(level, name)] = float(values[level][name][counted].mean()) if counted.any() else np.nan
        if approximate:
            scores["approximate_recall"] = retrieval.found_share(retrieval.depth(retrieved) or 1)
        if keep is not None:
            scores.per_query = _per_query(retrieval.queries, levels, values)
            if str(keep) != "return":
                scores.per_query.to_parquet(keep, index=False)
        del retrieval  # it may keep a float64 copy of the gallery

    if paired:
        for level, counts in pair_counts(vectors, coded, queries, gallery, cameras).items():
            for name, pair_metric in paired.items():
                scores[key(level, name)] = pair_metric.of_pairs(*counts)

    partitions: dict[int, np.ndarray] = {}
    for name, part in clustered.items():
        for level, classes in coded.items():
            for listed in [None] if clusters is None or part.own_clusters else clusters:
                k = part.clusters(int(classes.max()) + 1) if listed is None else listed
                if k > n:
                    warnings.warn(f"{name}: {k} clusters of {n} samples: each is its own cluster", stacklevel=2)
                if k not in partitions:
                    options: dict[str, Any] = {"restarts": restarts, "seed": seed, "backend": backend}
                    partitions[k] = kmeans(vectors, k, start=clustering_start, **options)
                spelt = name if listed is None else f"{name}@{k}"
                scores[key(level, spelt)] = part(contingency(classes, partitions[k]))
    return scores


def _check_options(
    metrics: Any, clusters: Any, clustering_start: str, restarts: int, keep: Any, approximate: bool, backend: str
) -> None:
    """Reject invalid options before the expensive work starts."""
    check_lists(metrics, clusters)
    check_start(clustering_start)
    if restarts < 1:
        raise ValueError(f"restarts: expected at least 1, got {restarts}")
    if not (keep is None or isinstance(keep, str | Path)):
        raise ValueError(f'keep: expected "return" or a path, got {keep!r}')
    if keep not in (None, "return") and not Path(keep).parent.is_dir():
        raise ValueError(f"keep: the folder {Path(keep).parent} does not exist")
    if approximate and backend == "torch":
        raise ValueError("approximate: backend 'torch' has no inverted file. Choices: auto, faiss")


def check_lists(metrics: Any, clusters: Any) -> None:
    """Raise a ValueError unless these are a list of names, and None or a list of numbers of clusters."""
    if isinstance(metrics, str):
        raise ValueError(f"metrics: expected a list of names, got {metrics!r}")
    listed = isinstance(clusters, Sequence) and len(clusters) > 0
    numbers = [k for k in clusters if k is not None] if listed and clusters is not None else []
    if clusters is not None and not (listed and all(isinstance(k, int | np.integer) and k >= 1 for k in numbers)):
        raise ValueError(f"clusters: expected a list of whole numbers of at least 1, got {clusters!r}")


def metric_of(name: str, options: Mapping[str, Any]) -> Any:
    """The part of a metric, constructed with those of the options that it takes."""
    check_metric(name)
    stem, settings = metric_part(name)
    part = discovery.find(PACKAGE, stem)
    return part(**settings, **discovery.accepted(part, options))


def _per_query(queries: np.ndarray, levels: Mapping[str, Any], values: Mapping[str, Any]) -> pd.DataFrame:
    """The table of `Scores.per_query`."""
    labels = {level: host_array(given, level)[queries] for level, given in levels.items()}
    frames = [
        pd.DataFrame({"level": level, "index": queries, "label": labels[level], **values[level]}) for level in levels
    ]
    return pd.concat(frames, ignore_index=True)
