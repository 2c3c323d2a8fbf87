"""`evaluate`: neighbours, pairs and clusterings computed once for all metrics and label levels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from dml import discovery
from dml.evaluation._vectors import Vectors, codes
from dml.evaluation.kmeans import kmeans
from dml.evaluation.metrics import check_metric, metric_part
from dml.evaluation.metrics.scores import contingency
from dml.evaluation.ranking import Neighbours, Relevance
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric
from dml.tables import host_array
from dml.tensors import without_autocast


class Scores(dict[str, float]):
    """Scores by name.

    Attributes
    ----------
    counts : for each level, the number of `queries`, and how many are `excluded` from the means because the gallery has
        no relevant row for them.
    per_query : if asked for: columns level, index (row of the embeddings), label, and one for each retrieval metric,
        NaN if the query is excluded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, dict[str, int]] = {}
        self.per_query: pd.DataFrame | None = None


def per_class(per_query: pd.DataFrame) -> pd.DataFrame:
    """`Scores.per_query` averaged within each class: columns level, label, queries, excluded, one for each metric."""
    metrics = [name for name in per_query.columns if name not in ("level", "index", "label")]
    groups = per_query.groupby(["level", "label"], sort=True)
    table = groups[metrics].mean()
    table.insert(0, "queries", groups.size())
    table.insert(1, "excluded", groups.size() - groups[metrics].count().min(axis=1) if metrics else 0)
    return table.reset_index()


class Retrieval:
    """Queries and a gallery among n embeddings, and what is relevant at each level of label codes int64 (n,)."""

    def __init__(
        self, vectors: Vectors, levels: Mapping[str, np.ndarray], queries: Any, gallery: Any, cameras: Any, backend: str
    ) -> None:
        n = len(vectors)
        self.queries, rows = rows_of(queries, n, "queries"), rows_of(gallery, n, "gallery")
        ids = None if cameras is None else camera_codes(cameras, n)
        self.relevance = {level: Relevance(labels, ids, self.queries, rows) for level, labels in levels.items()}
        asking, searched = (torch.from_numpy(chosen).to(vectors.device) for chosen in (self.queries, rows))
        self._neighbours = Neighbours(vectors, asking, searched, backend)

    def values(self, metrics: Mapping[str, RetrievalMetric]) -> dict[str, dict[str, np.ndarray]]:
        """At each level each metric's value for each query, float64 (q,); NaN for a query without a relevant row."""
        depth = self.depth(metrics)
        out = {level: {name: np.empty(len(self.queries)) for name in metrics} for level in self.relevance}
        placed = {level: right.to(self._neighbours.vectors.device) for level, right in self.relevance.items()}
        for block, hits in self._neighbours.hits(depth, placed):
            for level in placed:
                for name, part in metrics.items():
                    out[level][name][block] = part(hits[level])
        for level, right in self.relevance.items():
            for values in out[level].values():
                values[right.positives == 0] = np.nan
        return out

    def depth(self, metrics: Mapping[str, RetrievalMetric]) -> int | None:
        """Neighbours needed for all metrics and levels, including the rows that a level ignores; None: all."""
        needed = [1]
        for right in self.relevance.values():
            depths = [depth for part in metrics.values() if (depth := part.depth(right.most)) is not None]
            if len(depths) < len(metrics):
                return None
            needed.append(max(depths, default=0) + int(right.ignored.max(initial=0)))
        return max(needed)


def camera_codes(cameras: Any, n: int) -> np.ndarray:
    """Codes of cameras, int64 (n,); each unknown one (negative) is a camera of its own."""
    coded = codes(cameras, n, "cameras")
    return np.where(host_array(cameras, "cameras") < 0, coded.max() + 1 + np.arange(n), coded)


def rows_of(mask: Any, n: int, what: str) -> np.ndarray:
    """The rows of a bool mask (n,), int64; all rows if it is None."""
    if mask is None:
        return np.arange(n)
    array = host_array(mask, what)
    if array.dtype != bool or array.shape != (n,):
        raise ValueError(f"{what}: expected bool ({n},), got {array.dtype} {array.shape}")
    if not array.any():
        raise ValueError(f"{what}: expected at least one row, got none")
    return array.nonzero()[0]


CHUNK = 1 << 22  # pairs in one block
DROPPED = 10  # bits of a float32's 23 after the point: steps are 1/8192 of a squared distance
BINS = 1 << (31 - DROPPED)


def pair_counts(
    vectors: Vectors, levels: Mapping[str, np.ndarray], queries: Any, gallery: Any, cameras: Any
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Pairs of one class and of two classes by distance, nearest first, int64 (BINS,) both, at each level of labels.

    The arguments are those of `evaluate`. Without masks each pair of two rows counts once. Rows that a query ignores
    (its class and camera) are in no pair.
    """
    n, device = len(vectors), vectors.device
    once = queries is None and gallery is None
    asking, searched = (
        torch.from_numpy(rows_of(m, n, name)).to(device) for m, name in ((queries, "queries"), (gallery, "gallery"))
    )
    points = _points(vectors)
    left, right = (points, points) if once else (points[asking], points[searched])
    on_device = {level: torch.from_numpy(labels).to(device) for level, labels in levels.items()}
    camera = None if cameras is None else torch.from_numpy(camera_codes(cameras, n)).to(device)
    total = torch.zeros(BINS, dtype=torch.int64, device=device)
    same = {level: torch.zeros_like(total) for level in levels}  # of one class, also those that a query ignores
    taken = same if camera is None else {level: torch.zeros_like(total) for level in levels}

    step = max(1, CHUNK // len(searched))
    for start in range(0, len(asking), step):
        rows, columns = slice(start, start + step), slice(start if once else 0, None)
        bins, a, b = _steps(left[rows], right[columns]), asking[rows, None], searched[columns]
        valid = b > a if once else b != a
        total += torch.bincount(bins[valid], minlength=BINS)
        for level, labels in on_device.items():
            pairs = valid & (labels[a] == labels[b])
            same[level] += torch.bincount(bins[pairs], minlength=BINS)
            if camera is not None:
                pairs &= camera[a] != camera[b]
                taken[level] += torch.bincount(bins[pairs], minlength=BINS)
    return {level: (taken[level].cpu().numpy(), (total - same[level]).cpu().numpy()) for level in levels}


def _points(vectors: Vectors) -> Tensor:
    """float64 (n, D), centred, so that near points stay apart, and at most about 1, so that nothing overflows."""
    points = vectors.double(slice(None))  # maybe the caller's own memory
    points = points * 2.0 ** -points.abs().max().clamp(min=1e-300).log2().ceil()
    return points.sub_(points.mean(0))


def _steps(rows: Tensor, columns: Tensor) -> Tensor:
    """int32 (r, c): squared distances in steps that grow with them, the first bits of a float32."""
    sums = rows.square().sum(1)[:, None] + columns.square().sum(1)
    squared = torch.addmm(sums, rows, columns.T, alpha=-2)
    rounding = 2 * rows.shape[1] * torch.finfo(torch.float64).eps
    squared.masked_fill_(squared < rounding * sums, 0.0)  # duplicates
    return squared.float().view(torch.int32).bitwise_right_shift_(DROPPED)


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
    nmi_average: str = "arithmetic",
    over_clustering: int = 10,
    seed: int = 0,
    per_query: bool = False,
    device: torch.device | str | None = None,
) -> Scores:
    """Score embeddings. Distances are Euclidean.

    Parameters
    ----------
    embeddings : float (n, D), tensor or array.
    labels : integers (n,), or several levels of them by name, `{"fine": ..., "coarse": ...}`.
    metrics : names as in `metric_names()`, such as `recall@1`, `map@r` and `nmi`.
    normalize : L2-normalise first; k-means is then spherical. Use the setting of the training.
    queries, gallery : bool (n,), the rows that ask and those that are searched; None: all. No query finds itself.
    cameras : integers (n,). Gallery rows of the query's class and camera are ignored (Market-1501, CUHK03). A negative
        number is an unknown camera, different from all others.
    backend : of the search and of k-means: `auto`, `faiss` or `torch`.
    nmi_average : `arithmetic` or `geometric`, for `nmi`, `nmi+` and `ami`.
    over_clustering : clusters for each class, for `nmi+`.
    seed : of k-means.
    per_query : set `Scores.per_query`.
    device : where to compute; None: where the embeddings are.

    Returns
    -------
    A dict from the metric's name (with several levels `<level>/<metric>`) to its value. Retrieval metrics are means
    over the queries that have a relevant row, NaN if none has; metrics of pairs are over all pairs, NaN without
    pairs of both kinds. Clusterings are of all rows, also with `queries` or `gallery`.

    Raises ValueError: an unknown metric, backend or average; wrong shapes; no rows; rows with NaN, which it lists.
    """
    if isinstance(metrics, str):
        raise ValueError(f"metrics: expected a list of names, got {metrics!r}")
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

    if retrieved or per_query:
        retrieval = Retrieval(vectors, coded, queries, gallery, cameras, backend)
        values = retrieval.values(retrieved)
        for level, right in retrieval.relevance.items():
            counted = right.positives > 0
            scores.counts[level] = {"queries": len(counted), "excluded": int((~counted).sum())}
            for name in retrieved:
                scores[key(level, name)] = float(values[level][name][counted].mean()) if counted.any() else np.nan
        if per_query:
            scores.per_query = _per_query(retrieval.queries, levels, values)
        del retrieval  # it may keep a float64 copy of the gallery

    if paired:
        for level, counts in pair_counts(vectors, coded, queries, gallery, cameras).items():
            for name, pair_metric in paired.items():
                scores[key(level, name)] = pair_metric.of_pairs(*counts)

    partitions: dict[int, np.ndarray] = {}
    for name, part in clustered.items():
        for level, classes in coded.items():
            k = part.clusters(int(classes.max()) + 1)
            if k > n:
                warnings.warn(f"{name}: {k} clusters of {n} samples: each is its own cluster", stacklevel=2)
            if k not in partitions:
                partitions[k] = kmeans(vectors, k, seed=seed, backend=backend)
            scores[key(level, name)] = part(contingency(classes, partitions[k]))
    return scores


def metric_of(name: str, options: Mapping[str, Any]) -> Any:
    """The part of a metric, constructed with those of the options that it takes."""
    check_metric(name)
    stem, settings = metric_part(name)
    part = discovery.find("dml.evaluation.metrics", stem)
    return part(**settings, **discovery.accepted(part, options))


def _per_query(queries: np.ndarray, levels: Mapping[str, Any], values: Mapping[str, Any]) -> pd.DataFrame:
    """The table of `Scores.per_query`."""
    frames = [
        pd.DataFrame({"level": level, "index": queries, "label": host_array(labels, level)[queries], **values[level]})
        for level, labels in levels.items()
    ]
    return pd.concat(frames, ignore_index=True)
