"""Which images are evaluated, against which labels, and by which rules."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from dml.evaluation import evaluate
from dml.training import data as trial_data
from dml.training.data import open_data
from dml.training.evaluator import Evaluator
from dml.training.loop import Training

pytestmark = pytest.mark.slow


def test_the_tuning_phase_sees_only_validation_classes(make_spec, data_root, tmp_path):
    training = Training(make_spec(phase="tune", steps=4), data_root, tmp_path)
    assert set(training.advance().scores) == {"validation/fine/recall@1", "validation/fine/nmi"}
    fine = training.data.packed.index["fine"].to_numpy()
    fitted, validated = set(fine[training.data.rows]), set(fine[training.data.evaluation_rows("validation")])
    tested = set(fine[training.data.evaluation_rows("test")])
    assert not fitted & validated
    assert not (fitted | validated) & tested


@pytest.mark.parametrize(("train_on", "level"), [("coarse", "coarse"), ("fine", "given")])
def test_validation_images_count_by_the_labels_that_choose(make_spec, data_root, tmp_path, train_on, level):
    """Scores of a trial whose validation labels are observed ones, against scores of the same embeddings by hand."""
    spec = make_spec(phase="tune", steps=4)
    training = Training(spec, data_root, tmp_path)
    rows = training.data.evaluation_rows("validation")[::2]
    observed = np.random.default_rng(0).permutation(training.data.labels(level, rows))
    spec = replace(spec, dataset=replace(spec.dataset, evaluate_on=(level,)))
    data = replace(training.data, validation=pd.Series(observed, index=rows), train_on=train_on)
    evaluator = Evaluator(spec, data, training.model, training._augment, torch.device("cpu"))
    found = evaluator.scores(0)
    embeddings = evaluator.embed(rows)
    by_hand, by_true = (evaluate(embeddings, y, metrics=["recall@1"]) for y in (observed, data.labels(level, rows)))
    assert found[f"validation/{level}/recall@1"] == by_hand["recall@1"] != by_true["recall@1"]


def test_without_refitting_the_tuned_network_is_tested(make_spec, data_root, tmp_path, finish):
    """Train, validate, test: the same images, labels and weights as a tuning trial of that seed, on the test split."""
    tuned = finish(Training(make_spec(phase="tune", seed=1, steps=4), data_root, tmp_path / "tune"))
    digests = trial_data.describe(data_root, "digits", "uniform", 0.3, 1, "tune")
    spec = make_spec(seed=1, steps=4)
    spec = replace(spec, protocol="train_val_test", dataset=replace(spec.dataset, **digests))
    tested = finish(Training(spec, data_root, tmp_path / "test"))
    assert torch.equal(tested.model.head.weight, tuned.model.head.weight)
    assert (tmp_path / "test/model/model.safetensors").is_file()
    assert {name.split("/")[0] for name in tested.result().scores} == {"test", "seen"}

    data, refit = tested.data, open_data(make_spec(seed=1), data_root)
    np.testing.assert_array_equal(data.evaluation_rows("test"), refit.evaluation_rows("test"))
    fine = data.packed.index["fine"].to_numpy()
    fitted = set(fine[data.rows])
    assert set(fine[data.evaluation_rows("seen")]) == fitted < set(fine[refit.evaluation_rows("seen")])
    held_out = refit.evaluation_rows("seen")
    np.testing.assert_array_equal(data.evaluation_rows("seen"), held_out[[fine[row] in fitted for row in held_out]])


@pytest.mark.parametrize(("phase", "name"), [("confirm", "test"), ("tune", "validation")])
def test_queries_search_the_gallery_without_images_of_their_own_camera(make_spec, data_root, tmp_path, phase, name):
    spec = make_spec(phase=phase, evaluation={"metrics": ("recall@1", "map"), "sets": ("test",)})
    training = Training(spec, data_root, tmp_path)
    data = training.data
    cameras = np.arange(len(data.packed.index)) % 3
    split = data.split.copy()
    tested = split.index[split["final"] == "test"]
    split.loc[tested, "final"] = np.where(np.arange(len(tested)) % 4 == 0, "query", "gallery")
    data = replace(data, packed=replace(data.packed, index=data.packed.index.assign(camera=cameras)), split=split)
    evaluator = Evaluator(spec, data, training.model, training._augment, torch.device("cpu"))
    found = evaluator.scores(step=0)

    rows = data.evaluation_rows(name)
    roles = split.set_index("index").loc[rows, "final"].to_numpy()
    masks = {"queries": roles == "query", "gallery": roles == "gallery"} if phase == "confirm" else {}
    x, y = evaluator.embed(rows), data.labels("fine", rows)
    expected = evaluate(x, y, ["recall@1", "map"], cameras=cameras[rows], **masks)
    assert found == {f"{name}/fine/{metric}": value for metric, value in expected.items()}
    assert found != {f"{name}/fine/{k}": v for k, v in evaluate(x, y, ["recall@1", "map"], **masks).items()}


def test_training_images_are_scored_by_their_clean_labels(make_spec, data_root, tmp_path):
    """Also those that a trial does not see as they are: the labels of 30% are wrong."""
    spec = make_spec(steps=8, evaluation={"metrics": ("recall@1",), "sets": ("train", "test")})
    spec = replace(spec, dataset=replace(spec.dataset, evaluate_on=("fine", "coarse")))
    training = Training(spec, data_root, tmp_path)
    for _ in range(2):
        scores = training.advance().scores
    data = training.data
    rows = data.evaluation_rows("train")
    assert sorted(rows) == sorted(data.rows)
    x = training._evaluator.embed(rows)
    for level in ("fine", "coarse"):
        assert scores[f"train/{level}/recall@1"] == evaluate(x, data.labels(level, rows), ["recall@1"])["recall@1"]
    observed = evaluate(training._evaluator.embed(data.rows), data.observed, ["recall@1"])["recall@1"]
    assert scores["train/coarse/recall@1"] != observed


def test_settings_of_the_evaluation_reach_it(make_spec, data_root, tmp_path):
    def score(metric, **settings):
        evaluation = {"metrics": (metric,), "sets": ("seen",), **settings}
        training = Training(make_spec(evaluation=evaluation), data_root, tmp_path)
        return training.evaluate()[f"seen/fine/{metric}"]

    assert score("nmi") != score("nmi", nmi_average="geometric")
    assert score("nmi+") != score("nmi+", over_clustering=2)


def test_each_confirmed_trial_leaves_the_scores_of_each_class(make_spec, data_root, tmp_path, finish):
    wanted = {"metrics": ("recall@1", "nmi", "map@r"), "sets": ("test", "seen")}
    training = Training(make_spec(evaluation=wanted), data_root, tmp_path)
    result = finish(training).result()
    kept = np.load(tmp_path / "classes.npz")
    for part in ("test", "seen"):
        labels = training.data.labels("fine", training.data.evaluation_rows(part))
        np.testing.assert_array_equal(kept[f"{part}/fine/class"], np.unique(labels))
        queries = kept[f"{part}/fine/queries"]
        assert queries.sum() == len(labels)
        for metric in ("recall@1", "map@r"):
            mean = np.average(kept[f"{part}/fine/{metric}"], weights=queries)
            assert mean == pytest.approx(result.scores[f"{part}/fine/{metric}"], abs=1e-6)


def test_training_does_not_see_clean_labels(make_spec, data_root):
    data = open_data(make_spec(rate=0.3), data_root)
    clean = data.labels("coarse", data.rows)
    assert np.mean(clean != data.observed) == pytest.approx(0.3, abs=1 / len(clean))


def test_the_cameras_of_a_split_with_queries_are_in_its_digest(data_root, monkeypatch):
    """They decide the scores, and the digest of the packed images does not contain them."""
    packed = trial_data.open_packed_of(data_root, "digits")
    split = pd.read_parquet(data_root / "split" / "digits.parquet")
    queries = split.assign(final=split["final"].replace("test", "query"))
    read = trial_data._table

    def digest(split, camera):
        index = packed.index.assign(camera=camera)
        monkeypatch.setattr(trial_data, "open_packed_of", lambda root, name: replace(packed, index=index))
        monkeypatch.setattr(trial_data, "_table", lambda path, stage: split if stage == "split" else read(path, stage))
        return trial_data.describe(data_root, "digits", "uniform", 0.3, 0, "confirm")["split"]

    assert digest(queries, 1) != digest(queries, 2)
    assert digest(split, 1) == digest(split, 2)
