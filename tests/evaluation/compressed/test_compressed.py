"""The compressed search beside exact ones: an independent float64 ranking, and `evaluate`."""

import numpy as np
import pytest

from dml.evaluation import evaluate, metric_of
from dml.evaluation.clustering import contingency
from dml.evaluation.compressed import evaluate_compressed, make_plan, minibatch
from dml.evaluation.compressed.checking import true_score
from dml.evaluation.compressed.evaluating import run_here
from dml.evaluation.compressed.rows import Rows
from dml.evaluation.compressed.search import ranked

pytestmark = pytest.mark.slow

N, D, CLASSES = 12_000, 16, 600
METRICS = ["recall@1", "recall@5", "map@r"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    draw = np.random.default_rng(0)
    y = draw.integers(CLASSES, size=N)
    x = (draw.normal(size=(CLASSES, D))[y] + 0.7 * draw.normal(size=(N, D))).astype(np.float32)
    x[100:120] = x[7]  # duplicates
    path = tmp_path_factory.mktemp("vectors") / "x.npy"
    np.save(path, x)
    return path, x, y


@pytest.fixture(scope="module")
def exact(data):
    return evaluate(data[1], data[2], [*METRICS, "nmi", "f1"])


def test_with_all_lists_searched_the_scores_are_the_exact_ones(data, exact, tmp_path):
    given = {"folder": tmp_path, "candidates": 300, "probes": 10_000, "checked": 500}
    found = evaluate_compressed(data[0], data[2], [*METRICS, "nmi", "f1"], memory="2 GB", **given)
    assert found.accuracy["search_recall"][0] > 0.999
    for name in METRICS:
        assert found[name] == pytest.approx(exact[name], abs=2e-4)
    assert found["nmi"] == pytest.approx(exact["nmi"], abs=0.01)
    assert found["f1"] == pytest.approx(exact["f1"], abs=0.05)


@pytest.mark.parametrize("queries", [None, 4000])
def test_few_lists_lose_neighbours_and_the_intervals_contain_the_exact_scores(data, exact, tmp_path, queries):
    options = {"probes": 2, "candidates": 100, "checked": 1000, "queries": queries}
    found = evaluate_compressed(data[0], {"fine": data[2]}, METRICS, folder=tmp_path, **options)
    assert found.accuracy["fine/search_recall"][2] < 0.95
    assert max(abs(found[f"fine/{name}"] - exact[name]) for name in METRICS) > 0.01
    for name in METRICS:
        _, low, high = found.accuracy[f"fine/{name}"]
        assert low <= exact[name] <= high
        assert high - low < 0.08
    assert found.counts["fine"]["queries"] == (queries or N)


def test_candidates_are_in_the_order_of_distance_and_row(data):
    path, x, _ = data
    draw = np.random.default_rng(1)
    queries = np.array([7, 110, 5000])
    candidates = np.stack([draw.permutation(np.r_[7, 100:120, 200:280, -1, -1]) for _ in queries])
    found = ranked(Rows(path), queries, candidates)
    unit = x.astype(np.float64) / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
    for query, row in zip(queries, found, strict=True):
        rows = np.r_[7, 100:120, 200:280]
        distances = np.round(((unit[rows] - unit[query]) ** 2).sum(1), 13)
        expected = [place for _, place in sorted(zip(distances, rows, strict=True))]
        assert row.tolist() == [*expected, -1, -1]


def test_memory_decides_the_parts_and_no_score(data, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.evaluation.compressed.plan.STEP", 3000)
    monkeypatch.setattr("dml.evaluation.compressed.plan.LARGEST_SHARD", 3000)
    seen, given = [], {"candidates": 60, "probes": 4, "checked": 100, "queries": 1000}

    def run(function, inputs):
        seen.append((function.__name__, len(inputs)))
        return run_here(function, inputs)

    first = evaluate_compressed(data[0], data[2], ["recall@1", "nmi"], folder=tmp_path / "a", run=run, **given)
    assert ("add_shard", 4) in seen
    monkeypatch.undo()
    seen.clear()
    other = {"folder": tmp_path / "b", "memory": "16 GB", "run": run}
    second = evaluate_compressed(data[0], data[2], ["recall@1", "nmi"], **other, **given)
    assert ("add_shard", 1) in seen
    assert first["recall@1"] == second["recall@1"]
    assert first["nmi"] == pytest.approx(second["nmi"], abs=1e-9)
    assert first.accuracy == second.accuracy


def test_a_stopped_evaluation_resumes_from_its_files(data, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.evaluation.compressed.plan.STEP", 3000)
    monkeypatch.setattr("dml.evaluation.compressed.plan.LARGEST_SHARD", 3000)
    monkeypatch.setattr("dml.evaluation.compressed.plan.LARGEST_BLOCK", 500)
    given = {"candidates": 60, "probes": 4, "checked": 100, "queries": 2000}
    calls = []

    def stopping(at):
        def run(function, inputs):
            for one in inputs:
                calls.append(function.__name__)
                if len(calls) == at:
                    raise KeyboardInterrupt
                yield [function(*one)]

        return run

    whole = evaluate_compressed(data[0], data[2], METRICS, folder=tmp_path / "whole", **given)
    for at in (3, 7):  # among the shards, among the blocks
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            evaluate_compressed(data[0], data[2], METRICS, folder=tmp_path / "part", run=stopping(at), **given)
    shards = {path: path.stat().st_mtime_ns for path in (tmp_path / "part").rglob("*.faiss")}
    assert [path.name for path in shards] == ["index.faiss"]  # shards are deleted once they are merged
    calls.clear()
    again = evaluate_compressed(data[0], data[2], METRICS, folder=tmp_path / "part", run=stopping(10**6), **given)
    assert all(path.stat().st_mtime_ns == time for path, time in shards.items())
    assert (again, again.accuracy) == (whole, whole.accuracy)


def test_a_stopped_evaluation_resumes_with_shards_of_another_size(data, tmp_path, monkeypatch):
    """As another bound on the memory, or other metrics, may make them."""
    given = {"candidates": 300, "probes": 16, "checked": 100, "queries": 500}
    whole = evaluate_compressed(data[0], data[2], METRICS, folder=tmp_path / "whole", **given)

    def stopping(function, inputs):
        yield [function(*inputs[0])]
        raise KeyboardInterrupt

    monkeypatch.setattr("dml.evaluation.compressed.plan.STEP", 3000)
    monkeypatch.setattr("dml.evaluation.compressed.plan.LARGEST_SHARD", 6000)
    with pytest.raises(KeyboardInterrupt):
        evaluate_compressed(data[0], data[2], METRICS, folder=tmp_path / "part", run=stopping, **given)
    monkeypatch.setattr("dml.evaluation.compressed.plan.LARGEST_SHARD", 3000)
    again = evaluate_compressed(data[0], data[2], METRICS, folder=tmp_path / "part", **given)
    assert (again, again.accuracy) == (whole, whole.accuracy)


def test_other_vectors_do_not_reuse_the_index(data, exact, tmp_path):
    given = {"folder": tmp_path / "i", "candidates": 60, "probes": 64, "checked": 100, "queries": 3000}
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(2).normal(size=(N, D)).astype(np.float32))
    assert evaluate_compressed(path, data[2], ["recall@1"], **given)["recall@1"] < 0.1
    np.save(path, data[1])
    assert evaluate_compressed(path, data[2], ["recall@1"], **given)["recall@1"] > 0.5


def test_what_cannot_be_computed_is_refused_with_the_choices(data, tmp_path):
    path, x, y = data
    given = {"folder": tmp_path / "i"}
    most = np.bincount(y).max() - 1
    with pytest.raises(
        ValueError, match=f"map@r needs {most} neighbours .* expected at least {most + 1}, or leave map@r"
    ):
        evaluate_compressed(path, y, ["map@r"], candidates=int(most), **given)
    for name, what in (("map", "the whole ranking"), ("pair_auc", "all pairs")):
        with pytest.raises(ValueError, match=f"{name} needs {what}; leave it out"):
            evaluate_compressed(path, y, [name], **given)
    with pytest.raises(ValueError, match=r"memory: 100 MB does not suffice for 12,000 vectors .* at least \d+ MB"):
        evaluate_compressed(path, y, ["recall@1"], memory="100 MB", **given)
    with pytest.raises(ValueError, match="expected a size such as '256 MB'"):
        evaluate_compressed(path, y, ["recall@1"], memory="many", **given)
    with pytest.raises(ValueError, match="100 <= checked <= queries <= 12000, got checked 1000, queries 500"):
        evaluate_compressed(path, y, ["recall@1"], queries=500, **given)
    for clusters in ([0], [], 5, [2.5]):
        with pytest.raises(ValueError, match="clusters: expected a list of whole numbers of at least 1, got"):
            evaluate_compressed(path, y, ["nmi"], clusters=clusters, **given)
    with pytest.raises(ValueError, match="metrics: expected a list of names, got 'recall@1'"):
        evaluate_compressed(path, y, "recall@1", **given)
    np.save(tmp_path / "few.npy", x[:5000])
    with pytest.raises(ValueError, match="at least 10,000 vectors, got 5,000; use an exact search"):
        evaluate_compressed(tmp_path / "few.npy", y[:5000], ["recall@1"], **given)
    bad = x.copy()
    bad[[5, 11_000]] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(ValueError, match=r"rows hold NaN or infinity: .*\d"):
        evaluate_compressed(tmp_path / "bad.npy", y, ["recall@1"], **given)
    np.save(tmp_path / "whole.npy", y)
    with pytest.raises(ValueError, match=r"whole.npy: expected floats \(n, D\)"):
        evaluate_compressed(tmp_path / "whole.npy", y, ["recall@1"], **given)
    with pytest.raises(ValueError, match=r"labels: expected integers \(12000,\), got int64 \(5,\)"):
        evaluate_compressed(path, y[:5], ["recall@1"], **given)


def test_memory_bounds_the_parts():
    small = make_plan(10**8, 64, memory=4 << 30, candidates=1000, probes=64)
    large = make_plan(10**8, 64, memory=64 << 30, candidates=1000, probes=64)
    assert (small.lists, small.code, small.trained_on) == (large.lists, large.code, large.trained_on)
    assert small.block < large.block
    assert small.block * small.candidates * 64 * 8 < 4 << 30


def test_the_table_of_parts_is_that_of_the_whole():
    draw = np.random.default_rng(0)
    classes, clusters = draw.integers(50, size=5000), draw.integers(40, size=5000).astype(np.int32)
    found = minibatch.table(classes.astype(np.int32), np.array_split(clusters, 7))
    expected = contingency(classes, clusters)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name in ("nmi", "f1", "ami"):
        assert metric_of(name, {})(found) == pytest.approx(metric_of(name, {})(expected), abs=1e-12)


@pytest.mark.parametrize("k", [40, 5000])
def test_clusters_far_apart_are_found(tmp_path, k):
    draw = np.random.default_rng(0)
    classes = np.arange(4 * k) % k
    x = draw.normal(size=(k, 8))[classes] + 0.003 * draw.normal(size=(4 * k, 8))
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    rows = Rows(tmp_path / "x.npy", normalize=False)
    centres = minibatch.centres_of(rows, k, seed=0)
    minibatch.assign(rows, centres, slice(0, len(x)), tmp_path / "c.npy")
    assert metric_of("nmi", {})(contingency(classes, np.load(tmp_path / "c.npy"))) > 0.985


@pytest.mark.parametrize("started", [minibatch.STARTED, 1 << 12])
def test_with_more_clusters_than_rows_each_row_is_a_cluster(data, exact, tmp_path, monkeypatch, started):
    monkeypatch.setattr(minibatch, "STARTED", started)
    many = {"clusters": [2 * N], "over_clustering": 30}
    found = evaluate_compressed(data[0], data[2], ["nmi", "nmi+"], folder=tmp_path, **many)
    alone = metric_of("nmi", {})(contingency(data[2], np.r_[:100, [7] * 20, 120:N]))  # the copies of row 7 are one
    assert found == {f"nmi@{2 * N}": pytest.approx(alone), "nmi+": pytest.approx(alone)}


def test_every_row_goes_to_its_nearest_centre_however_many_there_are(tmp_path):
    draw = np.random.default_rng(0)
    x, centres = (draw.normal(size=(n, 32)).astype(np.float32) for n in (300, 6000))
    np.save(tmp_path / "x.npy", x)
    minibatch.assign(Rows(tmp_path / "x.npy", normalize=False), centres, slice(0, 300), tmp_path / "c.npy")
    distances = ((x[:, None].astype(np.float64) - centres) ** 2).sum(2)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), distances.argmin(1))


def test_without_a_difference_among_the_checked_the_rule_of_three_bounds_it():
    same = np.ones(300)
    assert true_score(np.ones(1000), same, same, sampled=False) == pytest.approx((1, 0.99, 1))


def test_the_interval_covers_at_its_level():
    draw, covered = np.random.default_rng(0), 0
    for _ in range(400):
        exact = draw.random(20_000) < 0.7
        approximate = exact & (draw.random(20_000) < 0.95)
        asked = draw.choice(20_000, 1000, replace=False)
        _, low, high = true_score(
            approximate.astype(float), *(v[asked].astype(float) for v in (approximate, exact)), False
        )
        covered += low <= exact.mean() <= high
    assert 0.92 <= covered / 400 <= 0.98
