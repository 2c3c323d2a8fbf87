"""What is chosen without training, against a loop over all candidates."""

from dataclasses import astuple
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy import stats

from dml import models
from dml.data import DataError
from dml.evaluation import augmented, evaluate
from dml.training import free
from dml.training.closed_form import KINDS, NORMALIZED, ClosedForm, apply

CLASSES, EACH = 12, 8


def made(seed=0, mirrored=True):
    """Two kinds of features of the same images: one tells classes apart once it is whitened, the other is noise."""
    draw = np.random.default_rng(seed)
    labels = np.arange(CLASSES).repeat(EACH)
    centres = draw.normal(size=(CLASSES, 10))
    views = 2 if mirrored else 1
    apart = draw.normal(size=(len(labels), views, 10)) * np.geomspace(0.2, 6, 10)
    good = centres[labels][:, None] + apart
    order = draw.permutation(len(labels))
    return {"noise": draw.normal(size=(len(labels), views, 14))[order], "good": good[order]}, labels[order]


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def naive(features, labels, metric):
    """The mean score of each candidate on the classes that it was not fitted to, and its scores of classes."""
    scores, by_class = {}, {}
    kinds = [(kind, s) for kind in ("none", *KINDS) for s in ((1.0, 0.1, 10.0) if kind in NORMALIZED else (None,))]
    for name, (kind, shrinkage), both in product(features, kinds, (False, True)):
        each = []
        for half in (0, 1):
            fitted, tested = labels % 2 == half, labels % 2 != half
            given = unit(features[name])[:, : 1 + both]
            if kind == "none":
                found = given[tested]
            else:
                forms = ClosedForm(unit(features[name])[fitted][:, 0], labels[fitted])
                projection = forms.projection(kind, None, shrinkage)
                found = np.stack([apply(projection, given[tested][:, view]) for view in range(1 + both)], axis=1)
            each.append(evaluate(unit(unit(found).sum(axis=1)), labels[tested], [metric], per_query=True))
        candidate = name, kind, "mirror" if both else "one", shrinkage
        scores[candidate] = np.mean([values[metric] for values in each])
        queries = pd.concat([values.per_query for values in each])
        by_class[candidate] = queries.groupby("label")[metric].mean()
    return scores, by_class


@pytest.mark.parametrize("metric", ["map@r", "recall@1"])
def test_the_best_candidate_on_held_out_classes_is_fitted_to_all(metric):
    features, labels = made()
    found, (expected, by_class) = free.choose(features, labels, metric), naive(features, labels, metric)
    own = {astuple(one): score for one, score in found.scores.items()}
    assert own == pytest.approx(expected, abs=1e-6)
    usual = by_class["noise", "whitening", "mirror", 1.0]
    surely = {one: stats.ttest_rel(own, usual).confidence_interval().low > 0 for one, own in by_class.items()}
    best = max((one for one in expected if surely[one]), key=expected.get)
    assert astuple(found.chosen) == best == ("good", "whitening", "mirror", free.SHARP)
    projection = ClosedForm(features["good"][:, 0], labels).projection("whitening", None, free.SHARP)
    both = [unit(apply(projection, features["good"][:, view])) for view in (0, 1)]
    np.testing.assert_allclose(found.embed(features), unit(sum(both)), atol=1e-5)
    assert str(found.chosen) == "good, sharply whitened, both views"


def test_whitening_of_the_first_features_stays_where_nothing_is_surely_better():
    features, labels = made()
    found = free.choose(features, np.random.default_rng(2).permutation(labels))
    assert astuple(found.chosen) == ("noise", "whitening", "mirror", 1.0)
    assert found.scores[found.chosen] < max(found.scores.values())
    assert free.choose(features, labels, "nmi").chosen.features == "good", "a score without classes"


def test_wrong_labels_choose_as_they_are():
    features, labels = made()
    observed = labels.copy()
    observed[::3] = np.random.default_rng(1).integers(CLASSES, size=len(observed[::3]))
    observed[:5] = -1
    kept = observed >= 0
    found = free.choose(features, observed)
    again = free.choose({name: given[kept] for name, given in features.items()}, observed[kept])
    assert found.scores == again.scores
    clean = free.choose(features, labels)
    assert found.scores[found.chosen] < clean.scores[clean.chosen]


@pytest.mark.parametrize("size", [4, 20])
def test_the_head_of_what_is_chosen_is_a_linear_map_of_all_features_of_unit_length(size):
    features, labels = made(mirrored=False)
    found = free.choose(features, labels, size=size)
    side = np.concatenate([unit(features[name][:, 0]) for name in features], axis=1)
    for one, projection in free.candidates({name: free.unit(own) for name, own in features.items()}, labels, size):
        weight, bias = free.Free(one, projection, found.scores).head({"noise": 14, "good": 10}, size)
        assert weight.shape == (size, 24)
        mapped = unit(side @ weight.numpy().T + bias.numpy())
        expected = free.Free(one, projection, found.scores).embed(features)
        np.testing.assert_allclose(mapped[:, : expected.shape[1]], expected, atol=1e-4)
        assert not mapped[:, expected.shape[1] :].any()


def test_a_look_scores_classes_that_neither_choose_nor_are_fitted_to():
    features, labels = made(mirrored=False)
    names = np.array([f"class {label:02}" for label in labels])
    found = free.look(features, names, folds=3)
    expected = {step: [] for step in ("as they are", "chosen", "re-ranked")}
    for fold in range(3):
        held_out = labels % 3 == fold
        best = free.choose({name: given[~held_out] for name, given in features.items()}, labels[~held_out], "recall@1")
        chosen = best.embed({name: given[held_out] for name, given in features.items()})
        steps = (features["noise"][held_out, 0], chosen, augmented(chosen))
        for step, rows in zip(expected, steps, strict=True):
            expected[step].append(evaluate(np.asarray(rows), labels[held_out], ["map@r"])["map@r"])
    assert {step: own["map@r"] for step, own in found.steps.items()} == pytest.approx(
        {step: np.mean(own) for step, own in expected.items()}, abs=1e-6
    )
    assert found.steps["chosen"]["recall@1"] > found.steps["as they are"]["recall@1"] + 0.3
    assert (found.images, found.classes, found.free.chosen.features) == (len(labels), CLASSES, "good")


def test_a_look_without_suspects_fits_and_chooses_without_them():
    features, labels = made(mirrored=False)
    draw = np.random.default_rng(5)
    wrong = draw.random(len(labels)) < 0.4
    observed = np.where(wrong, (labels + 1 + draw.integers(0, CLASSES - 1, len(labels))) % CLASSES, labels)
    found = free.look(features, observed, suspects=wrong)
    scores = []
    for fold in range(3):
        held_out = observed % 3 == fold
        best = free.choose(features, np.where(held_out | wrong, -1, observed), "recall@1")
        chosen = best.embed({name: given[held_out] for name, given in features.items()})
        scores.append(evaluate(chosen, observed[held_out], ["recall@1"])["recall@1"])
    assert found.steps["without suspects"]["recall@1"] == pytest.approx(np.mean(scores), abs=1e-6)
    better = found.steps["without suspects"]["recall@1"] > found.steps["chosen"]["recall@1"]
    fitted = free.choose(features, np.where(wrong & better, -1, observed), "recall@1")
    np.testing.assert_allclose(found.free.embed(features), fitted.embed(features), atol=1e-6)
    assert "without suspects" not in free.look(features, observed).steps
    with pytest.raises(ValueError, match="suspects: expected 96 truth values, got \\(3,\\)"):
        free.look(features, observed, suspects=wrong[:3])


def test_features_of_files_are_those_of_the_layers_of_their_pixels(tmp_path):
    draw, paths, squares = np.random.default_rng(0), [], []
    for place, (height, width) in enumerate([(20, 30), (16, 16), (40, 12)]):
        image = Image.fromarray(draw.integers(0, 256, (height, width, 3), dtype=np.uint8))
        paths.append(tmp_path / f"{place}.png")
        image.save(paths[-1])
        squares.append(np.asarray(image.resize((16, 16), Image.Resampling.BILINEAR)))
    torch.manual_seed(0)
    found = free.features_of(paths, "small_conv", {"width": 4}, side=16)
    torch.manual_seed(0)
    layers = models.build("small_conv", embedding_size=1, image_size=16, layers=True, width=4).backbone.eval()
    pixels = torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        views = torch.stack([layers(pixels), layers(pixels.flip(-1))], dim=1).numpy()
    assert list(found) == list(layers.widths)
    np.testing.assert_allclose(np.concatenate(list(found.values()), axis=2), views, atol=1e-5)
    assert free.features_of(paths, "small_conv", side=16, views="one")["last layer"].shape[1] == 1
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"broken\.png"):
        free.features_of([tmp_path / "broken.png"], "small_conv", side=16)
    with pytest.raises(ValueError, match="expected a list of paths of images, got none"):
        free.features_of([])
