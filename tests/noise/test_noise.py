"""The contract of all noise models, and the table that a study saves."""

import numpy as np
import pandas as pd
import pytest

from dml import discovery, noise

MODELS = [name for name in discovery.names("dml.noise") if name != "label_file"]
PLAIN = [name for name in MODELS if name != "similarity"]


def make_labels(seed=0, classes=10, n=600):
    generator = np.random.default_rng(seed)
    return generator.permutation(np.concatenate([np.arange(classes), generator.integers(0, classes, n)])) * 3 + 2


def corrupt(name, labels, rate, seed=0, **settings):
    features = np.random.default_rng(9).normal(size=(len(labels), 4)) + labels[:, None] % 4
    model = noise.build(name, rate=rate, **settings)
    known = {"features": features}
    return model.corrupt(labels, seed, **{k: v for k, v in known.items() if k in getattr(model, "context", ())})


def test_the_models_there_are():
    assert discovery.names("dml.noise") == (
        "asymmetric",
        "label_file",
        "open_set",
        "similarity",
        "small_cluster",
        "subset",
        "uniform",
    )


@pytest.mark.parametrize("name", MODELS)
class TestContract:
    @pytest.mark.parametrize("rate", [0.0, 0.1, 0.35])
    @pytest.mark.parametrize("seed", range(5))
    def test_record(self, name, rate, seed):
        labels = make_labels(seed)
        before = labels.copy()
        observed, flipped = corrupt(name, labels, rate, seed)
        assert (labels == before).all()
        assert observed.dtype == np.int64
        assert flipped.dtype == bool
        assert observed.shape == flipped.shape == labels.shape
        assert (flipped == ((observed != labels) & (observed >= 0))).all()
        assert set(observed) <= {*labels, -1}
        assert (rate > 0) or (observed == labels).all()

    def test_same_seed_same_labels(self, name):
        labels = make_labels()
        one, same, other = (corrupt(name, labels, 0.3, seed) for seed in (1, 1, 2))
        assert (one.observed == same.observed).all()
        assert (one.observed != other.observed).any()

    def test_the_measured_rate_is_the_one_asked_for(self, name):
        labels = make_labels()
        for rate in (0.1, 0.25, 0.4):
            observed, flipped = corrupt(name, labels, rate)
            if name == "subset":
                assert (observed < 0).sum() == round(rate * len(labels))
            else:
                assert abs(flipped.sum() - rate * (observed >= 0).sum()) <= 1

    @pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan"), "half", True])
    def test_wrong_rates(self, name, rate):
        with pytest.raises(ValueError, match="rate: expected 0 <= rate < 1"):
            noise.build(name, rate=rate)

    def test_rates_of_numpy(self, name):
        for rate in (np.float32(0.25), np.float64(0.25)):
            assert (corrupt(name, make_labels(), rate).observed == corrupt(name, make_labels(), 0.25).observed).all()
        assert not corrupt(name, make_labels(), np.int64(0)).flipped.any()

    def test_wrong_labels(self, name):
        for wrong, message in (
            (np.array([0, -1, 1]), "expected clean labels from 0, got -1"),
            (np.array([0.0, 1.0]), "expected integer labels"),
            (np.zeros((2, 2), dtype=int), "expected integer labels"),
        ):
            with pytest.raises(ValueError, match=message):
                corrupt(name, wrong.reshape(wrong.shape), 0.5) if wrong.ndim == 1 else noise.build(
                    name, rate=0.5
                ).corrupt(wrong, 0)

    def test_a_misspelt_setting(self, name):
        with pytest.raises(ValueError, match="unknown setting 'rat'; did you mean 'rate'"):
            noise.build(name, rat=0.5)


@pytest.mark.parametrize("name", ["uniform", "asymmetric", "similarity", "small_cluster"])
def test_one_class_has_no_wrong_label(name):
    with pytest.raises(ValueError, match="needs at least 2 classes, the labels hold 1"):
        corrupt(name, np.zeros(10, dtype=int), 0.5)
    assert not corrupt(name, np.zeros(10, dtype=int), 0.0).flipped.any()


def test_table_has_every_model_rate_and_seed():
    labels, index = make_labels(), np.arange(610) * 2
    table = noise.table(
        index, labels, [("uniform", 0.0, {}), ("uniform", 0.2, {}), ("subset", 0.2, {})], [3, 4], "tune"
    )
    assert list(table.columns) == ["noise", "rate", "seed", "phase", "index", "observed", "flipped"]
    assert len(table) == 3 * 2 * 610
    assert set(table["phase"]) == {"tune"}
    for (name, rate, seed), part in table.groupby(["noise", "rate", "seed"]):
        expected = corrupt(name, labels, rate, seed)
        assert (part["index"] == index).all()
        assert (part["observed"] == expected.observed).all()
        assert (part["flipped"] == expected.flipped).all()


def test_table_survives_parquet(tmp_path):
    table = noise.table(np.arange(610), make_labels(), [("subset", 0.5, {})], [0], "confirm")
    table.to_parquet(tmp_path / "noise.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "noise.parquet"), table, check_dtype=False)


def test_table_gives_models_their_context():
    labels = make_labels()
    features = np.random.default_rng(0).normal(size=(len(labels), 3))
    images = np.random.default_rng(0).integers(0, 256, size=(700, 30, 20, 1), dtype=np.uint8)
    for name in ("similarity", "small_cluster"):
        given = noise.table(np.arange(610), labels, [(name, 0.3, {})], [0], "tune", features=features)
        expected = noise.build(name, rate=0.3).corrupt(labels, 0, features=features)
        assert (given["observed"] == expected.observed).all()
        made = noise.table(np.arange(610), labels, [(name, 0.3, {})], [0], "tune", images=images)
        assert (made["observed"] != given["observed"]).any()


def test_images_are_not_read_where_no_model_needs_them():
    class Unreadable:
        def __getitem__(self, rows):
            raise AssertionError("read")

    noise.table(np.arange(610), make_labels(), [("uniform", 0.3, {})], [0], "tune", images=Unreadable())


def test_pixel_features_put_like_images_together():
    from dml.noise._features import pixels

    generator = np.random.default_rng(0)
    kinds = generator.integers(0, 256, size=(3, 33, 47, 3))
    images = np.clip(kinds[np.arange(60) % 3] * 0.5 + 20 + generator.normal(0, 5, (60, 33, 47, 3)), 0, 255)
    features = pixels(images.astype(np.uint8), np.arange(60))
    assert features.shape == (60, 256)
    same = np.equal.outer(np.arange(60) % 3, np.arange(60) % 3)
    alike = features @ features.T
    assert alike[same].min() > 0.9
    assert alike[~same].max() < 0.5
    assert np.isfinite(pixels(np.zeros((2, 5, 5, 1), dtype=np.uint8), np.arange(2))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phase": "test"}, "unknown phase 'test'. Choices: tune, confirm"),
        ({"models": [("uniform", 0.1, {}), ("uniform", 0.1, {})]}, "stands twice with the same rate"),
        ({"models": []}, "no model or no seed"),
        ({"index": np.arange(5)}, r"\(5,\) index values for \(610,\) labels"),
        ({"feature": np.zeros((610, 2))}, "unknown context.*feature"),
        ({"models": [("unifrom", 0.1, {})]}, "did you mean 'uniform'"),
        ({"models": [("similarity", 0.1, {})]}, "needs features"),
        ({"models": [("similarity", 0.1, {})], "features": np.zeros((9, 2))}, r"expected \(610, d\)"),
        ({"models": [("small_cluster", 0.1, {})], "features": np.full((610, 2), np.nan)}, "not finite"),
    ],
)
def test_tables_that_cannot_be_made(change, message):
    given = {"index": np.arange(610), "labels": make_labels(), "models": [("uniform", 0.1, {})], "seeds": [0]}
    with pytest.raises(ValueError, match=message):
        noise.table(**{**given, "phase": "tune", **change})
