"""`evaluate`: one pass over neighbours and clusterings for all metrics and label levels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from dml import discovery
from dml.evaluation._vectors import Vectors, codes, host_array
from dml.evaluation.clustering import contingency
from dml.evaluation.kmeans import kmeans
from dml.evaluation.metrics._names import check_metric, metric_part
from dml.evaluation.ranking import Neighbours
from dml.evaluation.relevance import Relevance

SAMPLE = 1000  # queries on which an approximate search is compared with the exact one


class Scores(dict[str, float]):
    """Scores by name, and what they were computed from.

    Attributes
    ----------
    counts : per level, `queries` and how many of them are `excluded` from the means, having no relevant row.
    per_query : with `keep`: columns level, index (row of the embeddings), label, one per retrieval metric (NaN where
        the query is excluded).
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, dict[str, int]] = {}
        self.per_query: pd.DataFrame | None = None


def per_class(per_query: pd.DataFrame) -> pd.DataFrame:
    """`Scores.per_query` averaged within each class: columns level, label, queries, excluded, one per metric."""
    metrics = [name for name in per_query.columns if name not in ("level", "index", "label")]
    groups = per_query.groupby(["level", "label"], sort=True)
    table = groups[metrics].mean()
    table.insert(0, "queries", groups.size())
    table.insert(1, "excluded", groups.size() - groups[metrics].count().min(axis=1) if metrics else 0)
    return table.reset_index()


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
    clusters: Sequence[int] | None = None,
    restarts: int = 1,
    seed: int = 0,
    keep: str | Path | None = None,
    device: torch.device | str | None = None,
) -> Scores:
    """Score embeddings.

    Parameters
    ----------
    embeddings : float (n, D), tensor or array. Distances are Euclidean.
    labels : int64 (n,), or several levels of them by name, `{"fine": ..., "coarse": ...}`.
    metrics : names as in `dml.discovery.metric_names()`: `recall@K`, `precision@K`, `map@r`, `map`, `nmi`, `nmi+`,
        `ami`, `f1`.
    normalize : L2-normalise first; k-means is then spherical. Take what the loss was trained with.
    queries, gallery : bool (n,), which rows ask and which are found; none: all. A row in both never finds itself.
    cameras : int64 (n,): gallery rows of the query's class and camera are left out (Market-1501, CUHK03). Negative:
        unknown, as no other.
    backend : `auto`, `faiss` or `torch`.
    approximate : search an inverted file (faiss); `approximate_recall` says which share of the neighbours it found,
        on up to 1000 queries.
    nmi_average : `arithmetic` or `geometric`, for `nmi`, `nmi+` and `ami`.
    over_clustering : clusters per class for `nmi+`.
    clusters : numbers of clusters for `nmi`, `ami` and `f1` in place of the number of classes; keys are `nmi@100`.
    restarts : k-means runs, the best of which counts.
    keep : `"return"`: leave `Scores.per_query` with the result; a path: also write it there, as Parquet.
    device : where to compute; none: where the embeddings are.

    Returns
    -------
    A dict from the metric's name (several levels: `<level>/<metric>`) to its value. Retrieval metrics are means over
    the queries that have a relevant row; NaN where none has one.

    Raises
    ------
    ValueError : an unknown metric, backend or average; wrong shapes; no rows; NaN embeddings (which rows).
    """
    _check_options(metrics, clusters, keep, approximate, backend)
    parts = {name: _metric(name, {"average": nmi_average, "over_clustering": over_clustering}) for name in metrics}
    vectors = Vectors(embeddings, normalize, device)
    n = len(vectors)
    levels = labels if isinstance(labels, Mapping) else {"": labels}
    if not levels:
        raise ValueError("labels: expected at least one level, got an empty mapping")
    coded = {level: codes(values, n, f"labels {level}".strip()) for level, values in levels.items()}
    scores = Scores()

    def key(level: str, name: str) -> str:
        return f"{level}/{name}" if isinstance(labels, Mapping) else name

    retrieval = {name: part for name, part in parts.items() if hasattr(part, "depth")}
    if retrieval or keep is not None:
        asking, found = _rows(queries, n, "queries"), _rows(gallery, n, "gallery")
        camera = None if cameras is None else _cameras(cameras, n)
        relevance = {level: Relevance(values, camera, asking, found) for level, values in coded.items()}
        rows = [torch.from_numpy(chosen).to(vectors.device) for chosen in (asking, found)]
        neighbours = Neighbours(vectors, rows[0], rows[1], backend, approximate, seed)
        values = _retrieve(neighbours, relevance, retrieval)
        for level, right in relevance.items():
            counted = right.positives > 0
            scores.counts[level] = {"queries": len(asking), "excluded": int((~counted).sum())}
            for name in retrieval:
                values[level][name][~counted] = np.nan
                scores[key(level, name)] = float(values[level][name][counted].mean()) if counted.any() else np.nan
        if approximate:
            deepest = _depth(retrieval, relevance)
            scores["approximate_recall"] = _overlap(neighbours, deepest or 1, backend, seed)
        if keep is not None:
            raw = {level: host_array(given) for level, given in levels.items()}
            frames = [
                pd.DataFrame({"level": level, "index": asking, "label": raw[level][asking], **values[level]})
                for level in levels
            ]
            scores.per_query = pd.concat(frames, ignore_index=True)
            if str(keep) != "return":
                scores.per_query.to_parquet(keep, index=False)

    partitions: dict[int, np.ndarray] = {}
    for name, part in parts.items():
        if name in retrieval:
            continue
        for level, values_of in coded.items():
            usual = part.clusters(int(values_of.max()) + 1)
            listed = clusters is not None and not hasattr(part, "over_clustering")
            for k in clusters if clusters is not None and listed else [usual]:
                if k > n:
                    warnings.warn(f"{name}: {k} clusters of {n} samples: each is its own cluster", stacklevel=2)
                if k not in partitions:
                    partitions[k] = kmeans(vectors, k, restarts=restarts, seed=seed, backend=backend)
                value = part(contingency(values_of, partitions[k]))
                scores[key(level, f"{name}@{k}" if listed else name)] = value
    return scores


def _check_options(metrics: Any, clusters: Any, keep: Any, approximate: bool, backend: str) -> None:
    """What would else be found wrong after the work, or not at all."""
    if isinstance(metrics, str):
        raise ValueError(f"metrics: expected a list of names, got {metrics!r}")
    listed = isinstance(clusters, Sequence) and len(clusters) > 0
    if clusters is not None and not (listed and all(isinstance(k, int | np.integer) and k >= 1 for k in clusters)):
        raise ValueError(f"clusters: expected a list of whole numbers of at least 1, got {clusters!r}")
    if not (keep is None or isinstance(keep, str | Path)):
        raise ValueError(f'keep: expected "return" or a path, got {keep!r}')
    if keep not in (None, "return") and not Path(keep).parent.is_dir():
        raise ValueError(f"keep: there is no folder {Path(keep).parent}")
    if approximate and backend == "torch":
        raise ValueError("approximate: an inverted file is faiss'; backend 'torch' has none. Choices: auto, faiss")


def _metric(name: str, options: Mapping[str, Any]) -> Any:
    """The metric's part, with those of the options that it takes."""
    check_metric(name)
    stem, settings = metric_part(name)
    taken = discovery.settings_of(discovery.find("dml.evaluation.metrics", stem))
    chosen = {option: value for option, value in options.items() if option in taken}
    return discovery.build("dml.evaluation.metrics", stem, **settings, **chosen)


def _cameras(cameras: Any, n: int) -> np.ndarray:
    """Codes of cameras, int64 (n,); each unknown one (negative) is a camera of its own."""
    known = codes(cameras, n, "cameras")
    unknown = host_array(cameras) < 0
    return np.where(unknown, known.max() + 1 + np.arange(n), known)


def _rows(mask: Any, n: int, what: str) -> np.ndarray:
    """The rows of a bool mask (n,), int64; all where there is none."""
    if mask is None:
        return np.arange(n)
    array = host_array(mask)
    if array.dtype != bool or array.shape != (n,):
        raise ValueError(f"{what}: expected bool ({n},), got {array.dtype} {array.shape}")
    if not array.any():
        raise ValueError(f"{what}: expected at least one row, got none")
    return array.nonzero()[0]


def _depth(retrieval: Mapping[str, Any], relevance: Mapping[str, Relevance]) -> int | None:
    """Neighbours needed for all metrics and levels, those that a level ignores included; None: all."""
    needed = [1]
    for right in relevance.values():
        depths = [part.depth(right.most) for part in retrieval.values()]
        if None in depths:
            return None
        needed.append(max(depths, default=0) + int(right.ignored.max(initial=0)))
    return max(needed)


def _retrieve(
    neighbours: Neighbours, relevance: Mapping[str, Relevance], retrieval: Mapping[str, Callable[[Any], np.ndarray]]
) -> dict[str, dict[str, np.ndarray]]:
    """Each metric's value for each query at each level, float64 (q,)."""
    out = {level: {name: np.empty(len(neighbours.queries)) for name in retrieval} for level in relevance}
    depth = _depth(retrieval, relevance)
    if depth is None and neighbours.approximate:
        raise ValueError("approximate: 'map' needs the whole ranking; leave one of the two out")
    placed = {level: right.to(neighbours.vectors.device) for level, right in relevance.items()}
    for block, hits in neighbours.hits(depth, placed):
        for level in placed:
            for name, part in retrieval.items():
                out[level][name][block] = part(hits[level])
    return out


def _overlap(neighbours: Neighbours, k: int, backend: str, seed: int) -> float:
    """Which share of the exact neighbours of some queries, but for themselves, an approximate search finds."""
    draw = torch.Generator().manual_seed(seed)
    some = torch.randperm(len(neighbours.queries), generator=draw)[:SAMPLE].sort().values
    rows = neighbours.queries[some.to(neighbours.queries.device)]
    found = []
    for approximate in (False, True):
        search = Neighbours(neighbours.vectors, rows, neighbours.gallery, backend, approximate, neighbours.seed)
        found.append(torch.cat([order for _, order in search.blocks(k)]).cpu().numpy())
    own = torch.searchsorted(neighbours.gallery, rows).cpu().numpy()  # nobody's neighbour, if it is there at all
    at = neighbours.gallery.cpu().numpy()[np.minimum(own, len(neighbours.gallery) - 1)]
    own = np.where(at == rows.cpu().numpy(), own, -1)
    shares = [np.isin(a[a != i], b).mean() for a, b, i in zip(*found, own, strict=True) if (a != i).any()]
    return float(np.mean(shares)) if shares else np.nan
