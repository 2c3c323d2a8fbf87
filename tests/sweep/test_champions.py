"""Champions: which images and labels they train on, with which settings, and what they save."""

import json
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from stages import packed_digits

from dml import models
from dml.config import Study
from dml.data.packing import open_packed
from dml.sweep.champions import Winner, all_images, champion_spec, train_champion
from dml.training.frozen.opening import open_trial
from dml.training.model_files import TrainedEmbedder

pytestmark = pytest.mark.slow

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}
CONTENT = {
    "title": "Digits",
    "datasets": [{"name": "digits", "train_on": "coarse"}],
    "losses": ["triplet"],
    "positives": ["easy"],
    "negatives": ["random"],
    "noise": [{"name": "uniform", "rates": [0.0, 0.4]}],
    "seeds": [3, 4],
    "training": {
        "backbone": {"name": "small_conv", "settings": {"width": 4}},
        "embedding_size": 4,
        "steps": 4,
        "batch": {"classes": 2, "per_class": 4},
    },
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the packed digits: `data/digits` and `store`."""
    return packed_digits(tmp_path_factory.mktemp("champions"))


@pytest.fixture
def packed(place):
    return open_packed(place / "store/packed/digits")


def study(**changes):
    return Study(**{**CONTENT, **changes}, name="digits")


def wanted(of, **changes):
    cell = next(cell for cell in of.cells() if cell.rate == 0.4)
    return Winner(of, cell, {"loss.margin": 0.3}, 0.25, {"rate": 0.25}, **changes)


def train(place, asked, name="digits"):
    lines = []
    folders = (place / "data/digits", place / "store", place / "results")
    return train_champion(asked, name, *folders, report=lines.append), lines


def test_every_image_trains_with_the_labels_of_the_level_that_the_study_trains_on(packed):
    found = all_images(study(), "digits", packed)
    np.testing.assert_array_equal(found.rows, np.arange(1797))
    np.testing.assert_array_equal(found.observed, packed.index["coarse"])
    assert found.counts == {"images": 1797, "classes": 2, "left_out": 0}
    fine = all_images(study(datasets=["digits"]), "digits", packed)
    np.testing.assert_array_equal(fine.observed, packed.index["fine"])


def test_labels_as_given_come_before_verified_ones_and_images_without_any_are_left_out(packed):
    given = packed.index["fine"].to_numpy().copy()
    given[:5] = (given[:5] + 1) % 10
    given[5] = -1  # has no other: its own
    own = packed.index["fine"].to_numpy().copy()
    index = packed.index.assign(fine=own, given_fine=given)
    found = all_images(study(datasets=["digits"]), "digits", replace(packed, index=index))
    np.testing.assert_array_equal(found.observed, np.where(given >= 0, given, own)[found.rows])
    assert len(found.rows) == 1797


def test_a_label_file_takes_the_place_of_the_labels(packed, tmp_path):
    labels = packed.index["coarse"].to_numpy().copy()
    labels[:3] = [-1, 1 - labels[1], labels[2]]
    path = tmp_path / "labels.csv"
    pd.DataFrame({"index": np.arange(1797), "label": labels}).to_csv(path, index=False)
    found = all_images(study(), "digits", packed, path)
    np.testing.assert_array_equal(found.observed, labels)
    assert found.counts["left_out"] == 1
    assert found.labels == str(path)
    assert len(found.labels_sha256) == 64


def test_the_winners_searched_settings_and_nothing_held_out():
    of = study(search={"sampler": "tpe", "trials": 2}, evaluation={"metrics": ["map@r"]})
    cell = next(cell for cell in of.cells() if cell.rate == 0.4)
    settings = {"loss.margin": 0.3, "loss.reduction": "sum", "training.steps": 9}  # only the first is searched
    spec = champion_spec(Winner(of, cell, settings, 0.25, {}), DIGESTS)
    assert spec.loss.settings == {"margin": 0.3}
    assert (spec.phase, spec.seed, spec.training.steps) == ("confirm", 3, 4)
    assert (spec.noise.model, spec.noise.rate) == ("uniform", 0.0)
    assert (spec.evaluation.sets, list(spec.evaluation.metrics)) == ((), ["map@r"])


@pytest.mark.parametrize("training", [{}, {"frozen": True}])
def test_a_filter_whose_rate_nobody_knows_estimates_it_from_the_labels_that_train(place, training, monkeypatch):
    """Labels as given are not known to be right: a filter that is told that none is wrong would leave nothing out."""
    asked = []

    def guess(rates, spec, name):
        asked.append(open_trial(spec, rates._data_root).observed)
        return SimpleNamespace(guess=0.17, warning="")

    monkeypatch.setattr("dml.sweep.inputs.rates.Rates._guess", guess)
    of = study(filters=[{"name": "prism", "settings": {"rate": "true"}}], training={**CONTENT["training"], **training})
    made, lines = train(place, replace(wanted(of), rate=None), f"unknown-{len(training)}")
    assert made.spec.filter.settings["rate"] == 0.17
    assert [len(observed) for observed in asked] == [1797]
    assert any("17% of the observed labels look wrong" in line for line in lines)


@pytest.mark.parametrize("frozen", [False, True])
def test_it_saves_a_whole_network_and_a_card_and_is_trained_once(place, packed, frozen, monkeypatch):
    of = study(training={**CONTENT["training"], "frozen": frozen})
    with monkeypatch.context() as patch:
        patch.setattr("dml.sweep.champions.write_card", Mock(side_effect=OSError("full")))
        with pytest.raises(OSError, match="full"):
            train(place, wanted(of), f"frozen-{frozen}")
    assert len([*place.glob(f"store/champions/frozen-{frozen}/*/checkpoint")]) == 1, "its work is kept"
    made, lines = train(place, wanted(of), f"frozen-{frozen}")
    assert f"frozen-{frozen}: training on 1797 images of 2 classes (as given), 4 steps" in lines
    card = json.loads((made.folder / "champion.json").read_text())
    assert (card["recipe"], card["key"]) == ({"rate": 0.25}, made.key)
    assert card["preprocessing"]["shape"] == [8, 8, 1]
    assert card["preprocessing"]["mean"] == [0.0]
    assert card["preprocessing"]["std"] == [1.0]
    assert card["versions"]["parts"]["losses.triplet"] == 1
    images = packed.images[:6].copy()
    network = models.build(**card["network"])
    network.load_state_dict(load_file(made.folder / "model.safetensors"))
    with torch.no_grad():
        expected = network.eval()(torch.from_numpy(images).permute(0, 3, 1, 2) / 255)
    expected = torch.nn.functional.normalize(expected).numpy()
    np.testing.assert_allclose(TrainedEmbedder(made.folder)(images), expected, atol=1e-6)
    assert [path.name for path in made.folder.parent.iterdir()] == ["model"]
    before = (made.folder / "model.safetensors").stat().st_mtime_ns
    monkeypatch.setattr("dml.sweep.champions.git_commit", lambda: "later")
    again, lines = train(place, wanted(of), f"frozen-{frozen}")
    assert any(line.endswith("trained already") for line in lines)
    assert (again.folder, *map(again.card.get, ("made", "versions"))) == (made.folder, card["made"], card["versions"])
    assert (made.folder / "model.safetensors").stat().st_mtime_ns == before
