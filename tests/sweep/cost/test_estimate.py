"""What a study costs: the trials are counted as the plan counts them, and the time is that of earlier trials."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dml import files
from dml.config import Study
from dml.data import DataError
from dml.losses import Triplet
from dml.sweep.cost import estimate as estimating
from dml.sweep.cost import trial_costs as costs
from dml.sweep.cost.estimate import Estimate, duration_text, estimate, kept_models, size_text
from dml.sweep.cost.timing import Timing, time_scores, time_steps
from dml.sweep.inputs.extracting import stored_trainings
from dml.sweep.plan import keys
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore
from dml.training.frozen.recipe import features_id, recipe

STUDY = {
    "title": "x",
    "datasets": [{"name": "digits", "train_on": "coarse"}],
    "losses": ["triplet", "margin"],
    "positives": ["random"],
    "negatives": ["random"],
    "seeds": [0, 1, 2],
    "search": {"trials": 5},
    "training": {"backbone": "mlp", "steps": 100, "batch": {"classes": 2, "per_class": 4}},
    "name": "study",
}
STEP, SCORES = 0.02, 0.05  # seconds


@pytest.fixture(autouse=True)
def timed(monkeypatch):
    """The trials whose steps were timed: a step takes `STEP` seconds, embedding an image 0.001, scoring `SCORES`."""
    asked = []

    def time_steps(spec, manifest, seconds, threads):
        asked.append((spec, manifest))
        return Timing(STEP, 0.001)

    monkeypatch.setattr(costs, "time_steps", time_steps)
    monkeypatch.setattr(costs, "time_scores", lambda *_: SCORES)
    monkeypatch.setattr(estimating.cluster, "cpus", lambda: 2)
    return asked


def cost(tmp_path, **changes) -> Estimate:
    study = Study(**{**STUDY, **changes})
    return estimate(study, tmp_path / "data/study", tmp_path / "store", tmp_path / "results")


def describe(*asked):
    return {"packed": "p", "split": "s", "labels": json.dumps(asked)}


@pytest.mark.parametrize(
    "search",
    [{"trials": 5}, {"sampler": "grid", "trials": 7}, {"sampler": "fixed"}, {"trials": 9}],
)
def test_trials_are_counted_as_the_plan_counts_them(tmp_path, search):

    study = Study(
        **{**STUDY, "search": search, "training": {**STUDY["training"], "search": {"steps": {"choice": [1, 2]}}}}
    )
    plan = Plan(study, TrialStore(tmp_path), describe)
    found = cost(tmp_path, search=search, training={**STUDY["training"], "search": {"steps": {"choice": [1, 2]}}})
    assert found.trials == plan.total
    assert (found.cells, found.confirming) == (2, 6)


def test_early_stopping_counts_the_steps_that_it_takes(tmp_path):
    """9 trials to 20 steps, 3 to 30 and one to 90, in each of two cells; the others train in full."""
    training = {**STUDY["training"], "steps": 90}
    changes = {"training": training, "evaluation": {"every": 10}}
    whole = cost(tmp_path, search={"trials": 9}, **changes)
    halved = cost(tmp_path, search={"trials": 9, "early_stopping": "halving"}, **changes)
    assert (whole.steps, halved.steps, halved.whole_steps) == (1620, 2 * (9 * 20 + 3 * 10 + 60), 1620)
    assert "(18 to tune, in 540 of 1,620 steps (33%) by early stopping, 6 to confirm)" in halved.lines()[0]
    assert "early stopping" not in whole.lines()[0]
    assert whole.trials == halved.trials == 24
    assert halved.seconds / whole.seconds == pytest.approx((6 + 18 * 540 / 1620) / 24)
    fixed = cost(tmp_path, search={"sampler": "fixed"}, **changes)
    assert fixed.steps == fixed.whole_steps == 0


def test_seconds_are_those_of_the_steps_the_evaluation_and_the_sweep_itself(tmp_path, timed):
    pack(tmp_path)
    found = cost(tmp_path)
    evaluated = 1000 * costs.TESTED
    assert found.trial_seconds == pytest.approx(100 * STEP + evaluated * 0.001 + SCORES + costs.OVERHEAD)
    assert found.seconds == pytest.approx(found.trial_seconds * 16 / 2)
    assert "random images" in found.basis


def test_each_view_and_each_refit_embeds_images(tmp_path, timed):
    pack(tmp_path)
    seconds = 1000 * costs.TESTED * 0.001
    one, mirror = (
        cost(tmp_path, evaluation={"every": 50, "views": views}).trial_seconds for views in ("one", "mirror")
    )
    assert mirror - one == pytest.approx(2 * seconds)
    refit = cost(tmp_path, evaluation={"every": 50}, training={**STUDY["training"], "head_refit": "whitening"})
    assert refit.trial_seconds - one == pytest.approx(2 * seconds)


def test_features_of_mirror_images_are_stored_too(tmp_path):
    training = {**STUDY["training"], "frozen": True}
    one, mirror = (Study(**{**STUDY, "training": training, "evaluation": {"views": v}}) for v in ("one", "mirror"))
    assert [spec.mirrored for spec in stored_trainings(one, "digits")] == [False]
    assert [spec.mirrored for spec in stored_trainings(mirror, "digits")] == [False, True]
    sizes = [cost(tmp_path / "sizes", training=training, evaluation={"views": v}).features for v in ("one", "mirror")]
    assert sizes[1] == 2 * sizes[0] > 0


def test_the_size_of_images_is_looked_up_in_their_files_before_they_are_packed(tmp_path, timed):
    cost(tmp_path)
    assert [timed[0][1][name] for name in ("height", "width", "channels")] == [8, 8, 1]


def test_resources_decide_how_many_trials_run_at_once(tmp_path):
    assert cost(tmp_path, resources={"cpus_per_trial": 2}).slots == 1
    assert cost(tmp_path, resources={"cpus_per_trial": 0.5}).slots == 4
    assert cost(tmp_path, resources={"cpus_per_trial": 0.5, "concurrent": 3}).slots == 3


def store_trial(tmp_path, packed="p", seconds=50.0, stop_at=None, **training):
    """A finished trial of 100 steps, or of fewer."""
    study = Study(**{**STUDY, "training": {**STUDY["training"], **training}})
    cell = study.cells()[0]
    spec = costs.spec_of(study, cell, {"digest": packed})
    spec = replace(spec, training=replace(spec.training, stop_at=stop_at))
    trials, key = TrialStore(tmp_path / "store"), keys.key(spec)
    trials.begin(key, json.dumps(keys.record(spec)))
    trials.write(key, Outcome(FINISHED, seconds=seconds))


def pack(tmp_path):
    root = tmp_path / "data/study"
    root.mkdir(parents=True)
    manifest = {"digest": "p", "height": 8, "width": 8, "channels": 1, "images": 1000, "decode": "eager"}
    (root / "pack.json").write_text(json.dumps({"digits": manifest}))


def test_similar_trials_of_the_store_are_taken_and_nothing_is_timed(tmp_path, timed):
    pack(tmp_path)
    store_trial(tmp_path, seconds=50.0)
    store_trial(tmp_path, seconds=70.0, learning_rate=0.5)  # as fast as with another learning rate
    store_trial(tmp_path, seconds=9e9, packed="other")
    store_trial(tmp_path, seconds=9e9, batch={"classes": 2, "per_class": 64})
    found = cost(tmp_path)
    assert found.trial_seconds == pytest.approx(60.0 + costs.OVERHEAD)
    assert timed == []
    assert "2 similar trials" in found.basis


def test_other_steps_take_as_much_longer(tmp_path):
    pack(tmp_path)
    store_trial(tmp_path, seconds=50.0)
    found = cost(tmp_path, training={**STUDY["training"], "steps": 1000})
    assert found.trial_seconds == pytest.approx(500.0 + costs.OVERHEAD)


def test_trials_that_stopped_early_do_not_make_steps_slow(tmp_path, timed):
    """One that ends at step 0 starts and evaluates all the same: 20 s of each of these."""
    pack(tmp_path)
    store_trial(tmp_path, seconds=20.0, stop_at=0)
    assert "random images" in cost(tmp_path).basis, "no trial in the store trained"
    store_trial(tmp_path, seconds=24.0, stop_at=40)
    store_trial(tmp_path, seconds=30.0)
    found = cost(tmp_path, training={**STUDY["training"], "steps": 1000})
    assert found.trial_seconds == pytest.approx(120.0 + costs.OVERHEAD)


def test_what_was_timed_once_is_remembered_for_the_same_trials(tmp_path, timed):
    pack(tmp_path)
    first, again = cost(tmp_path), cost(tmp_path)
    assert (first, len(timed)) == (again, 2)
    cost(tmp_path, training={**STUDY["training"], "embedding_size": 7})
    assert len(timed) == 4


def test_disk_is_models_and_images_that_are_not_packed(tmp_path):
    study = Study(**STUDY)
    kept = kept_models(study, {"digits": {"height": 8, "width": 8, "channels": 1}})
    found = cost(tmp_path)
    assert found.models == kept.models == len(study.cells())
    assert found.bytes >= kept.bytes
    pack(tmp_path)
    assert cost(tmp_path).bytes == kept.bytes


def test_disk_is_also_features_and_activations_that_are_not_stored(tmp_path):
    crops = {"augment": "random_resized_crop", "augment_settings": {"image_size": 8}}
    training = {**STUDY["training"], "backbone": "small_conv", "train_from": "layers.3", **crops}
    pack(tmp_path)
    images = json.loads((tmp_path / "data/study/pack.json").read_text())["digits"]["images"]
    found = cost(tmp_path, training=training)
    assert found.features == images * (4 * 16 * 8 * 8 * 2 + 64 * 4), "4 views in float16, and features in float32"
    assert found.bytes == found.features + cost(tmp_path, training={**training, "train_from": None}).bytes
    assert f"{size_text(found.features)} of stored features or activations)" in found.lines()[2]
    assert cost(tmp_path).features == 0
    study = Study(**{**STUDY, "training": training})
    manifest = json.loads((tmp_path / "data/study/pack.json").read_text())["digits"]
    for spec in stored_trainings(study, "digits"):
        files.write_json(tmp_path / "store/features" / features_id(recipe(spec, manifest)) / "manifest.json", {})
    assert cost(tmp_path, training=training).features == 0


def test_an_hour_is_named(tmp_path, monkeypatch):
    assert "more than an hour" not in "\n".join(cost(tmp_path).lines())
    monkeypatch.setattr(costs, "time_steps", lambda *_: Timing(20.0, 0.0))
    found = cost(tmp_path / "slow")
    assert found.long
    assert "more than an hour" in "\n".join(found.lines())


def test_a_gpu_that_is_not_here_leaves_the_time_open(tmp_path, monkeypatch, timed):
    monkeypatch.setattr(costs.torch.cuda, "is_available", lambda: False)
    found = cost(tmp_path, resources={"gpus_per_trial": 1})
    assert found.seconds is None
    assert timed == []
    assert "needs a GPU" in "\n".join(found.lines())


def test_a_step_that_fails_leaves_the_time_open(tmp_path, monkeypatch):
    """The other trials can run; this one's own result will say why it failed."""
    monkeypatch.setattr(costs, "time_steps", time_steps)
    monkeypatch.setattr(Triplet, "forward", lambda *_: [][0])
    found = cost(tmp_path)
    assert found.seconds is None
    assert found.lines()[0].startswith(
        "study: 2 cells, 16 trials (10 to tune, 6 to confirm); time not known: a step could not be timed: "
        "IndexError: list index out of range (loss 'triplet', backbone 'mlp'); "
    )


def test_a_part_that_rejects_its_inputs_is_an_error(tmp_path, monkeypatch):
    def reject(*_):
        raise ValueError("labels: expected others")

    monkeypatch.setattr(costs, "time_steps", time_steps)
    monkeypatch.setattr(Triplet, "forward", reject)
    with pytest.raises(ValueError, match="labels: expected others"):
        cost(tmp_path)


def test_images_of_unknown_size_are_a_guess_that_is_said(tmp_path):
    found = cost(tmp_path, datasets=[{"name": "cub200"}])
    assert "a guess, as the images of cub200 are not here yet" in found.basis


@pytest.mark.parametrize(("source", "shape"), [("mnist", (28, 28, 1)), ("cifar100", (32, 32, 3))])
def test_images_of_a_known_size_are_no_guess_before_the_download(tmp_path, timed, source, shape):
    found = cost(tmp_path, datasets=[{"name": source, "train_on": "coarse"}])
    assert "guess" not in found.basis
    assert {(own["height"], own["width"], own["channels"]) for _, own in timed} == {shape}


def test_a_single_trial_takes_its_own_time_whatever_runs_beside_it(tmp_path):
    once = {"seeds": [0], "losses": ["triplet"], "search": {"sampler": "fixed"}}
    found = cost(tmp_path, **once)
    assert found.seconds == pytest.approx(found.trial_seconds)
    lines = found.lines()
    assert lines[0] == "study: 1 cell, 1 trial (0 to tune, 1 to confirm)"
    assert "(1 trial of" in lines[1]
    assert "at the same time" not in lines[1]
    assert lines[2].endswith("(1 model)")


def test_own_vectors_are_looked_at(tmp_path, timed):
    np.save(tmp_path / "vectors.npy", np.ones((300, 7), np.float32))
    (tmp_path / "labels.csv").write_text("fine\n" + "\n".join(str(row % 5) for row in range(300)))
    options = {"vectors": str(tmp_path / "vectors.npy"), "table": str(tmp_path / "labels.csv")}
    own = {"datasets": [{"name": "features", "settings": options}], "training": {"steps": 10}}
    found = cost(tmp_path, **own)
    assert {manifest["channels"] for _, manifest in timed} == {7}
    assert found.bytes > 300 * 7 * 4
    assert "guess" not in found.basis
    (tmp_path / "labels.csv").write_text("fine\n0\n1\n")
    with pytest.raises(DataError, match=r"vectors.npy has 300 vectors, .*labels.csv 2 rows"):
        cost(tmp_path, **own)


def test_timed_steps_of_a_slow_network_take_longer():
    study = Study(**STUDY)
    spec, small = costs.spec_of(study, study.cells()[0], {}), {"height": 8, "width": 8, "channels": 1}
    fast = [time_steps(spec, small, 0.05) for _ in range(3)]  # another process may delay one
    large = Study(**{**STUDY, "training": {**STUDY["training"], "backbone": "small_conv", "batch": {"per_class": 16}}})
    slow = time_steps(costs.spec_of(large, large.cells()[0], {}), {"height": 32, "width": 32, "channels": 3}, 0.05)
    assert 0 < min(timing.step_seconds for timing in fast) < slow.step_seconds
    assert 0 < min(timing.image_seconds for timing in fast) < slow.image_seconds


def test_a_study_whose_trials_are_all_stored_is_not_timed(tmp_path, monkeypatch, timed):
    monkeypatch.setattr(estimating, "is_prepared", lambda *_: True)
    monkeypatch.setattr(estimating, "_stored", lambda *_: 16)
    found = cost(tmp_path)
    assert timed == []
    assert found.lines() == [
        "study: 2 cells, 16 trials (10 to tune, 6 to confirm), 16 of them done already; nothing to train"
    ]
    monkeypatch.setattr(estimating, "_stored", lambda *_: 12)
    found = cost(tmp_path)
    assert found.seconds == pytest.approx(found.trial_seconds * 4 / 2)


def test_units():
    texts = [duration_text(s) for s in (0.25, 40, 600, 9000, 3 * 86_400)]
    assert texts == ["0.2 s", "40 s", "10 min", "2.5 h", "3 days"]
    assert [size_text(s) for s in (12, 3_100_000, 2e13)] == ["12 B", "3.1 MB", "20 TB"]


def test_a_frozen_trial_is_timed_on_features(tmp_path):
    manifest = {"height": 64, "width": 64, "channels": 3}

    def timed(**way):
        training = {**STUDY["training"], "backbone": "small_conv", **way}
        study = Study(**{**STUDY, "training": training})
        return time_steps(costs.spec_of(study, study.cells()[0], manifest), manifest, seconds=0.1)

    features, activations, images = timed(frozen=True), timed(train_from="layers.4"), timed()
    assert 0 < features.image_seconds < images.image_seconds / 2
    assert activations.image_seconds > 0
    found = cost(tmp_path, training={**STUDY["training"], "frozen": True})
    assert "without the features, computed once before" in found.basis


def test_scores_of_more_images_take_longer():
    study = Study(**{**STUDY, "evaluation": {"metrics": ["map@r"]}})
    spec = costs.spec_of(study, study.cells()[0], {})
    assert time_scores(spec, 400, 64) < time_scores(spec, 4000, 64) < time_scores(spec, 40_000, 64)
