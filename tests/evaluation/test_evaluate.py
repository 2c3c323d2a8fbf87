"""`evaluate` as a whole: every retrieval metric against loops, hard data, options and errors."""

import numpy as np
import pytest
import torch

from dml.evaluation import _search, evaluate, per_class

BACKENDS = ["torch", *(["faiss"] if _search.has_faiss() else [])]
RETRIEVAL = ["recall@1", "recall@3", "precision@1", "precision@4", "map@r", "map"]


def expected(rankings):
    """The six of RETRIEVAL from lists of relevance, by loops."""
    sums = dict.fromkeys(RETRIEVAL, 0.0)
    for right in rankings:
        r = int(right.sum())
        sums["recall@1"] += bool(right[0])
        sums["recall@3"] += bool(right[:3].any())
        sums["precision@1"] += float(right[0])
        sums["precision@4"] += right[:4].sum() / 4
        sums["map@r"] += sum(right[: i + 1].mean() for i in range(r) if right[i]) / r
        sums["map"] += sum(right[: i + 1].mean() for i in range(len(right)) if right[i]) / r
    return {name: value / len(rankings) for name, value in sums.items()}


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_against_loops(case, naive, backend, whole, normalize, seed):
    x, labels = case(seed)
    names = RETRIEVAL if whole else RETRIEVAL[:-1]
    scores = evaluate(x, labels, names, normalize=normalize, backend=backend)
    truth = expected(naive(x, labels, normalize=normalize))
    assert scores == pytest.approx({name: truth[name] for name in names}, abs=1e-12)
    assert scores.counts[""]["excluded"] == sum(np.bincount(labels)[labels] == 1) >= 1


@pytest.mark.parametrize("seed", range(3))
def test_query_and_gallery_with_cameras(case, naive, seed):
    x, labels = case(seed)
    rng = np.random.default_rng(seed)
    options = {
        "queries": rng.random(len(x)) < 0.4,
        "gallery": rng.random(len(x)) < 0.8,
        "cameras": rng.integers(3, size=len(x)),
    }
    truth = expected(naive(x, labels, **options))
    assert evaluate(x, labels, RETRIEVAL, **options) == pytest.approx(truth, abs=1e-12)
    shallow = evaluate(x, labels, ["recall@1", "recall@3"], **options)
    assert shallow == pytest.approx({name: truth[name] for name in shallow}, abs=1e-12)


def test_an_unknown_camera_is_no_other_camera(case):
    x, labels = case(0)
    assert evaluate(x, labels, RETRIEVAL, cameras=np.full(len(x), -1)) == evaluate(x, labels, RETRIEVAL)


def test_two_levels_in_one_pass_equal_two_passes(case):
    x, labels = case(0)
    names = ["recall@1", "map@r", "nmi", "nmi+", "ami", "f1"]
    both = evaluate(x, {"fine": labels, "coarse": labels % 3}, names)
    for level, values in (("fine", labels), ("coarse", labels % 3)):
        alone = evaluate(x, values, names)
        assert {f"{level}/{name}": value for name, value in alone.items()} == pytest.approx(
            {key: value for key, value in both.items() if key.startswith(level)}
        )


@pytest.mark.parametrize("names", [["recall@1"], ["map"]])
def test_classes_that_the_gallery_lacks(case, names):
    x, labels = case(0)
    queries = labels == labels[0]
    scores = evaluate(x, labels, names, queries=queries, gallery=~queries)
    assert np.isnan(scores[names[0]])
    assert scores.counts[""] == {"queries": 1, "excluded": 1}
    mixed = evaluate(x, labels, names, queries=queries | (np.arange(len(x)) < 20), gallery=~queries)
    assert mixed.counts[""]["excluded"] >= 1
    assert 0 <= mixed[names[0]] <= 1


def test_per_query_and_per_class(case):
    x, labels = case(0)
    scores = evaluate(x, {"fine": labels, "coarse": labels % 3}, ["recall@1", "map@r"], per_query=True)
    table = scores.per_query
    assert table.columns.tolist() == ["level", "index", "label", "recall@1", "map@r"]
    fine = table[table.level == "fine"]
    np.testing.assert_array_equal(fine.label, labels)
    assert fine["map@r"].mean() == pytest.approx(scores["fine/map@r"])
    classes = per_class(table)
    lonely = classes[(classes.level == "fine") & (classes.label == labels[0])].iloc[0]
    assert (lonely.queries, lonely.excluded) == (1, 1)
    assert np.isnan(lonely["recall@1"])
    assert classes.queries.sum() == 2 * len(x)


def test_one_sample():
    scores = evaluate(np.ones((1, 3), np.float32), [7], ["recall@1", "map@r", "map", "nmi", "ami", "f1"])
    assert [np.isnan(scores[name]) for name in ("recall@1", "map@r", "map")] == [True] * 3
    assert [scores[name] for name in ("nmi", "ami", "f1")] == [1.0] * 3
    assert scores.counts[""] == {"queries": 1, "excluded": 1}


def test_labels_beyond_float32():
    labels = np.array([2**24, 2**24 + 1] * 10)
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    assert evaluate(x, labels, RETRIEVAL) == pytest.approx(evaluate(x, labels % 2, RETRIEVAL))
    assert evaluate(x, -labels, RETRIEVAL) == pytest.approx(evaluate(x, labels % 2, RETRIEVAL))


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_float64_embeddings_far_from_the_origin(case, naive, kind):
    """Float32 cannot represent their differences before they are centred."""
    x, labels = case(0)
    far = 1e9 + x.astype(np.float64)
    truth = expected(naive(far, labels, normalize=False))
    assert evaluate(kind(far), labels, RETRIEVAL, normalize=False) == pytest.approx(truth, abs=1e-12)
    near = evaluate(x, labels, ["nmi"], normalize=False)
    assert evaluate(kind(far), labels, ["nmi"], normalize=False) == pytest.approx(near, abs=1e-6)


def test_float64_directions_that_float32_cannot_tell_apart(case, naive):
    x, labels = case(0)
    x = 1 + 1e-9 * x.astype(np.float64)
    truth, given = expected(naive(x, labels)), x.copy()
    assert evaluate(x, labels, RETRIEVAL) == pytest.approx(truth, abs=1e-12)
    for backend in BACKENDS:
        assert evaluate(x, labels, ["recall@1"], backend=backend)["recall@1"] == pytest.approx(truth["recall@1"])
    np.testing.assert_array_equal(x, given)


def test_float64_embeddings_beyond_float32_are_named():
    x = np.ones((4, 3))
    x[2, 1] = 1e39
    with pytest.raises(ValueError, match=r"1 of 4 rows .*: 2"):
        evaluate(x, np.zeros(4, int))


def test_same_seed_same_scores(case):
    x, labels = case(0)
    names = ["recall@1", "map@r", "nmi", "nmi+", "ami", "f1"]
    for backend in ("auto", "torch"):
        first, second = (evaluate(x, labels, names, backend=backend, seed=4, over_clustering=3) for _ in range(2))
        assert first == second


def test_nan_rows_are_named():
    x = np.ones((40, 3), np.float32)
    x[[3, 17], 1] = np.nan, np.inf
    with pytest.raises(ValueError, match="2 of 40 rows hold NaN or infinity: 3, 17"):
        evaluate(x, np.zeros(40, int))
    with pytest.raises(ValueError, match=r"40 of 40 .*: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\."):
        evaluate(x * np.nan, np.zeros(40, int))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_gives_the_same_retrieval(case):
    x, labels = case(0)
    assert evaluate(x, labels, RETRIEVAL, device="cuda") == pytest.approx(evaluate(x, labels, RETRIEVAL))
