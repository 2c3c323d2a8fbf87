"""`evaluate_compressed`: the steps in their order, each resumed from the files that an earlier run left."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dml import files
from dml.arrays import host_array
from dml.counting import bytes_of
from dml.evaluation._evaluate import check_lists, metric_of
from dml.evaluation._scores import Scores
from dml.evaluation.compressed import minibatch
from dml.evaluation.compressed.checking import Interval, exact_neighbours, found_share, nearest_in, true_score
from dml.evaluation.compressed.index import IndexJob, add_shard, merge, train
from dml.evaluation.compressed.plan import make_plan
from dml.evaluation.compressed.rows import Rows
from dml.evaluation.compressed.search import SearchJob, _opened, neighbours, search_block, values_of
from dml.protocols import ClusteringMetric, PairMetric
from dml.seeding import numpy_generator
from dml.types import FEWEST_CHECKED

VERSION = 2  # of the files in the folder; raised when they would contain other numbers
EVERY = 5.0  # seconds between two reports


class Run(Protocol):
    """Calls a function for each input, and yields lists of results as they come, in any order."""

    def __call__(self, function: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], /) -> Iterator[list[Any]]: ...


def run_here(function: Callable[..., Any], inputs: Sequence[tuple[Any, ...]]) -> Iterator[list[Any]]:
    """Call the function in this process, for one input after the other."""
    for given in inputs:
        yield [function(*given)]


def evaluate_compressed(
    path: str | Path,
    labels: Any,
    metrics: Sequence[str] = ("recall@1", "map@r", "nmi"),
    *,
    folder: str | Path,
    memory: str | int = "4 GB",
    normalize: bool = True,
    candidates: int = 500,
    probes: int = 64,
    queries: int | None = None,
    checked: int = 1000,
    nmi_average: str = "arithmetic",
    over_clustering: int = 10,
    clusters: Sequence[int | None] | None = None,
    seed: int = 0,
    run: Run = run_here,
    report: Callable[[str], None] = lambda line: None,
) -> Scores:
    """Score vectors in a file by a compressed index. See the package for what is exact.

    A call with the same file and settings resumes from the files in `folder`, shard by shard.

    Parameters
    ----------
    path : a `.npy` file of floats (n, D), at least 10,000 rows.
    labels : integers (n,), at least 0, or several levels of them by name.
    metrics : as of `evaluate`, but those of the whole ranking (`map`) and of all pairs.
    folder : for the index and the results of blocks, all of it deletable afterwards. Workers need to reach it.
    memory : that one process may use, pages of mapped files not counted. No score depends on it.
    candidates : rows that are ranked exactly for each query, more than any metric needs: `map@r` needs as many as the
        largest class has rows.
    probes : lists of the inverted file that a query searches; more find more.
    queries : how many random rows are queries; None: all. The interval takes account of it.
    checked : queries that are also searched exactly.
    clusters, nmi_average, over_clustering : as of `evaluate`.
    run : calls the shards' functions; `dml.sweep.execution.huge_evaluation` has one over Ray's workers.
    report : called with lines of progress.

    Returns
    -------
    Scores. `accuracy` has for each retrieval score the exact one as it is estimated, with its interval; and for each
    level `search_recall`, the share of the exact neighbours that was found.

    Raises
    ------
    ValueError : what `evaluate` and `make_plan` raise, metrics that need more rows than candidates, or too few checked.
    """
    check_lists(metrics, clusters)
    rows = Rows(Path(path), normalize)
    levels = dict(labels) if isinstance(labels, Mapping) else {"": labels}
    parts = {name: metric_of(name, {"average": nmi_average, "over_clustering": over_clustering}) for name in metrics}
    clustered = {name: part for name, part in parts.items() if isinstance(part, ClusteringMetric)}
    retrieved = {name: part for name, part in parts.items() if name not in clustered}
    coded = {level: _codes(given, len(rows), f"labels {level}".strip()) for level, given in levels.items()}
    sizes = {level: np.bincount(codes) for level, codes in coded.items()}
    depth = _depth(retrieved, max(int(size.max()) for size in sizes.values()) - 1, candidates)
    if checked < FEWEST_CHECKED or (queries is not None and not checked <= queries <= len(rows)):
        raise ValueError(
            f"expected {FEWEST_CHECKED} <= checked <= queries <= {len(rows)}, got checked {checked}, queries {queries}"
        )
    wanted = {  # of more clusters than rows, each row is one
        (level, name, listed): min(len(rows), part.clusters(len(sizes[level])) if listed is None else listed)
        for level in levels
        for name, part in clustered.items()
        for listed in ([None] if clusters is None or part.own_clusters else clusters)
    }
    most = max(wanted.values(), default=0)
    plan = make_plan(*rows.shape, memory=bytes_of(memory), candidates=candidates, probes=probes, classes=most)
    place = Path(folder).resolve() / _digest(_content(rows), normalize, seed, plan.lists, plan.code)
    place.mkdir(parents=True, exist_ok=True)
    scores = Scores()
    _say = _Progress(report)

    def key(level: str, name: str) -> str:
        return f"{level}/{name}" if isinstance(labels, Mapping) else name

    stored = {level: place / f"labels-{_digest(codes)}.npy" for level, codes in coded.items()}
    for level, codes in coded.items():
        _save(stored[level], codes)
    del coded
    if retrieved:
        index = IndexJob(rows, plan, place, seed)
        _say("training the index", lambda: train(index))
        _say.each("compressing", run, add_shard, [(index, number) for number in range(len(index.shards))])
        _say("merging the shards", lambda: merge(index))
        draw = numpy_generator(seed, "queries")
        some = None if queries is None else np.sort(draw.choice(len(rows), queries, replace=False, shuffle=False))
        own = _digest([str(file) for file in stored.values()], list(retrieved), candidates, probes, queries, plan.block)
        job = SearchJob(index, place / own, some, stored, retrieved)
        job.folder.mkdir(exist_ok=True)
        _say.each("searching", run, search_block, [(job, number) for number in range(len(job.blocks))])
        values = np.concatenate([np.load(job.block_file(number)) for number in range(len(job.blocks))], axis=2)
        asked = np.sort(draw.choice(job.count, min(checked, job.count), replace=False, shuffle=False))
        asked = asked if some is None else some[asked]
        exact, near = _check(job, asked, depth + 1, run, _say)
        both = [values_of(job, asked, found) for found in (near, exact)]
        for at, level in enumerate(levels):
            counted = ~np.isnan(values[at, 0])
            scores.counts[level] = {"queries": len(counted), "excluded": int((~counted).sum())}
            for column, name in enumerate(retrieved):
                scores[key(level, name)] = float(values[at, column][counted].mean()) if counted.any() else np.nan
                pair = (both[0][at, column], both[1][at, column])
                scores.accuracy[key(level, name)] = true_score(values[at, column], *pair, queries is not None)
            scores.accuracy[key(level, "search_recall")] = found_share(exact, near[:, : depth + 1], asked)
    tables: dict[int, list[Path]] = {}
    for (level, name, listed), k in wanted.items():
        if k not in tables:
            tables[k] = _clusters(rows, k, seed, plan.shard, place, run, _say)
        found = minibatch.table(np.load(stored[level], mmap_mode="r"), (np.load(file) for file in tables[k]))
        scores[key(level, name if listed is None else f"{name}@{listed}")] = clustered[name](found)
    return scores


def _check(job: SearchJob, asked: np.ndarray, k: int, run: Run, say: _Progress) -> tuple[np.ndarray, np.ndarray]:
    """Of queries (c,) the k nearest rows by an exact search, and the candidates of the compressed one."""
    rows = job.index.rows
    found = say.each("checking exactly", run, nearest_in, [(rows, asked, k, shard) for shard in job.index.shards])
    exact = exact_neighbours(rows, asked, k, found)
    blocks = [asked[start : start + job.index.plan.block] for start in range(0, len(asked), job.index.plan.block)]
    return exact, np.concatenate([neighbours(_opened(job.index), rows, block) for block in blocks])


def _clusters(rows: Rows, k: int, seed: int, shard: int, place: Path, run: Run, say: _Progress) -> list[Path]:
    """The files with the clusters of each shard's rows, int32."""
    shards = rows.slices(shard)
    paths = [place / f"clusters-{k}-{shard}-{number:05d}.npy" for number in range(len(shards))]
    file = place / f"centres-{k}.npy"
    if not file.is_file():
        centres = minibatch.centres_of(rows, k, seed, lambda done, of: say.line(f"mini-batch {done} of {of}"))
        found = say.each("moving centres", run, minibatch.assign, [(rows, centres, part, None) for part in shards])
        _save(file, minibatch.moved(centres, found, rows.normalize))
    centres = np.load(file)
    left = [(rows, centres, part, path) for part, path in zip(shards, paths, strict=True) if not path.is_file()]
    for _ in say.each("assigning", run, minibatch.assign, left):
        pass
    return paths


class _Progress:
    """Says which step runs, how much of it is done, and how long it took."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.line = report

    def __call__(self, what: str, step: Callable[[], None]) -> None:
        started = time.monotonic()
        step()
        self.line(f"{what}: {time.monotonic() - started:.0f} s")

    def each(self, what: str, run: Run, function: Callable[..., Any], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function for all inputs. Returns the results, in any order."""
        started = said = time.monotonic()
        done: list[Any] = []
        for found in run(function, inputs):
            done += found
            if time.monotonic() - said > EVERY:
                said = time.monotonic()
                left = (said - started) / max(1, len(done)) * (len(inputs) - len(done))
                self.line(f"{what}: {len(done)} of {len(inputs)}, {left:.0f} s left")
        self.line(f"{what}: {len(done)} of {len(inputs)}, {time.monotonic() - started:.0f} s")
        return done


def _depth(metrics: Mapping[str, Any], most: int, candidates: int) -> int:
    """Neighbours that the metrics need, the query itself not counted. `most`: relevant rows of a query."""
    return max([1, *(check_depth(name, part, most, candidates) for name, part in metrics.items())])


def check_depth(name: str, part: Any, most: int, candidates: int) -> int:
    """The neighbours that a metric needs, if a query has at most `most` relevant rows; 0 for a score of clusters.

    Raises
    ------
    ValueError : it needs all pairs, the whole ranking, or as many rows as there are candidates.
    """
    if isinstance(part, ClusteringMetric):
        return 0
    depth = None if isinstance(part, PairMetric) else part.depth(most)
    if depth is None:
        what = "all pairs" if isinstance(part, PairMetric) else "the whole ranking"
        raise ValueError(f"compressed search: {name} needs {what}; leave it out, or use an exact search")
    if depth >= candidates:
        raise ValueError(
            f"candidates: {name} needs {depth} neighbours beside the query (which has up to {most} relevant ones), got "
            f"{candidates}: expected at least {depth + 1}, or leave {name} out"
        )
    return depth


def _codes(labels: Any, n: int, what: str) -> np.ndarray:
    """Labels as consecutive codes from 0, int32 (n,), without a sort."""
    given = host_array(labels, what)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ValueError(f"{what}: expected integers ({n},), got {given.dtype} {given.shape}")
    low, high = int(given.min()), int(given.max())
    if low < 0 or high > 16 * n:
        return np.unique(given, return_inverse=True)[1].astype(np.int32)
    there = np.zeros(high + 1, dtype=bool)
    there[given] = True
    return (there.cumsum(dtype=np.int32) - 1)[given]


def _content(rows: Rows) -> str:
    """A fingerprint of a file: its shape, and a thousand of its rows."""
    some = np.unique(np.linspace(0, len(rows) - 1, 1000).astype(np.int64))
    return _digest(rows.shape, rows.path.stat().st_size, rows.read(some))


def _digest(*values: Any) -> str:
    digest = hashlib.sha256(str(VERSION).encode())
    for value in values:
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else json.dumps(value).encode())
    return digest.hexdigest()[:16]


def _save(path: Path, array: np.ndarray) -> None:
    if not path.is_file():
        with files.replacing(path) as temporary, open(temporary, "wb") as file:
            np.save(file, array)


__all__ = ["Interval", "Run", "evaluate_compressed", "run_here"]
