"""The table of noisy labels that a study saves, and the features that it computes from pixels."""

import numpy as np
import pandas as pd

from dml import discovery, noise

N = 610


def test_table_has_every_model_rate_and_seed(tools):
    labels, index = tools.make_labels(), np.arange(N) * 2
    table = noise.table(
        index, labels, [("uniform", 0.0, {}), ("uniform", 0.2, {}), ("subset", 0.2, {})], [3, 4], "tune"
    )
    assert list(table.columns) == ["noise", "rate", "seed", "phase", "index", "observed", "flipped"]
    assert len(table) == 3 * 2 * N
    assert set(table["phase"]) == {"tune"}
    for (name, rate, seed), part in table.groupby(["noise", "rate", "seed"]):
        expected = tools.corrupt(name, labels, rate, seed)
        assert (part["index"] == index).all()
        assert (part["observed"] == expected.observed).all()
        assert (part["flipped"] == expected.flipped).all()


def test_table_gives_models_their_context(tools):
    labels = tools.make_labels()
    features = np.random.default_rng(0).normal(size=(len(labels), 3))
    images = np.random.default_rng(0).integers(0, 256, size=(700, 30, 20, 1), dtype=np.uint8)
    for name in discovery.names("dml.noise"):
        if "features" not in discovery.find("dml.noise", name).context:
            continue
        given = noise.table(np.arange(N), labels, [(name, 0.3, {})], [0], "tune", features=features)
        expected = noise.build(name, rate=0.3).corrupt(labels, 0, features=features)
        assert (given["observed"] == expected.observed).all()
        made = noise.table(np.arange(N), labels, [(name, 0.3, {})], [0], "tune", images=images)
        assert (made["observed"] != given["observed"]).any()


def test_images_are_not_read_if_no_model_needs_them(tools):
    class Unreadable:
        def __getitem__(self, rows):
            raise AssertionError("read")

    noise.table(np.arange(N), tools.make_labels(), [("uniform", 0.3, {})], [0], "tune", images=Unreadable())


def test_pixel_features_of_similar_images_are_similar():
    from dml.noise._labels import pixels

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


def test_halves_divide_images_by_their_observed_class(tools):
    """A naive loop: whoever has wrong labels cannot know in which half a true class is."""
    classes = np.arange(40) // 5
    tune = np.where(classes < 3, "train", np.where(classes < 6, "validation", "unused"))
    rows = np.flatnonzero(classes < 6)
    table = noise.table(rows, classes[rows], [("uniform", 0.4, {}), ("subset", 0.4, {})], [0, 1], "tune")
    found = noise.halves(table, tune, classes)
    expected = []
    for row in table.itertuples(index=False):
        if 0 <= row.observed < 6:
            expected.append(row._replace(phase="tune" if row.observed < 3 else "validation"))
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected), check_dtype=False)
    uniform = found[found["noise"] == "uniform"]
    crossed = uniform["phase"] != np.where(classes[uniform["index"]] < 3, "tune", "validation")
    assert crossed.any()


def test_halves_that_share_classes_keep_their_own_images():
    groups = np.tile([0, 1], 10)
    tune = np.repeat(["train", "validation"], 10)
    table = noise.table(np.arange(20), groups, [("uniform", 0.3, {})], [0], "tune")
    found = noise.halves(table, tune, groups)
    assert (found["phase"] == np.where(found["index"] < 10, "tune", "validation")).all()
    assert len(found) == 20
