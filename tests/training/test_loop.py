"""A trial: it learns, it resumes bit for bit, it sees no clean label, and it says when it cannot go on."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dml.evaluation import evaluate
from dml.training import checkpoint
from dml.training.build import build_loss, build_miner
from dml.training.data import open_data
from dml.training.embedder import TrainedEmbedder
from dml.training.loop import Training, TrainingError


def finish(training: Training) -> Training:
    while not training.finished:
        training.advance()
    return training


def same_state(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    one, two = a.state_dict(), b.state_dict()
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


def test_a_trial_trains_and_evaluates_as_its_spec_says(make_spec, data_root, tmp_path):
    training = finish(Training(make_spec(steps=10), data_root, tmp_path))
    result = training.result()
    assert [p.step for p in result.curve] == [4, 8, 10]
    assert set(result.scores) == {f"{s}/fine/{m}" for s in ("test", "seen") for m in ("recall@1", "nmi")}
    assert all(0 <= v <= 1 for v in result.scores.values())
    assert {"loss", "images_per_second"} <= set(result.diagnostics)


def test_training_helps(make_spec, data_root, tmp_path):
    spec = make_spec("contrastive", "all", "all", steps=60, rate=0.0, evaluation={"every": 60})
    training = Training(replace(spec, dataset={**spec.dataset, "evaluate_on": ["coarse"]}), data_root, tmp_path)
    before = training.evaluate()["seen/coarse/nmi"]
    assert finish(training).result().scores["seen/coarse/nmi"] > before + 0.2


def test_the_tuning_phase_sees_validation_classes_only(make_spec, data_root, tmp_path):
    training = Training(make_spec(phase="tune", steps=4), data_root, tmp_path)
    assert set(training.advance().scores) == {"validation/fine/recall@1", "validation/fine/nmi"}
    fine = training.data.packed.index["fine"].to_numpy()
    fitted, validated = set(fine[training.data.rows]), set(fine[training.data.evaluation_rows("validation")])
    tested = set(fine[training.data.evaluation_rows("test")])
    assert not fitted & validated
    assert not (fitted | validated) & tested


def test_queries_ask_the_gallery_and_no_image_of_their_own_camera(make_spec, data_root, tmp_path):
    for phase, name in (("confirm", "test"), ("tune", "validation")):
        spec = make_spec(phase=phase, evaluation={"metrics": ["recall@1", "map"], "sets": ["test"]})
        training = Training(spec, data_root, tmp_path / phase)
        data = training.data
        cameras = np.arange(len(data.packed.index)) % 3
        split = data.split.copy()
        tested = split.index[split["final"] == "test"]
        split.loc[tested, "final"] = np.where(np.arange(len(tested)) % 4 == 0, "query", "gallery")
        packed = replace(data.packed, index=data.packed.index.assign(camera=cameras))
        training.data = replace(data, packed=packed, split=split)
        found = training.evaluate()

        rows = training.data.evaluation_rows(name)
        roles = split.set_index("index").loc[rows, "final"].to_numpy()
        masks = {"queries": roles == "query", "gallery": roles == "gallery"} if phase == "confirm" else {}
        x, y = training.embed(rows), data.labels("fine", rows)
        expected = evaluate(x, y, ["recall@1", "map"], cameras=cameras[rows], **masks)
        assert found == {f"{name}/fine/{metric}": value for metric, value in expected.items()}
        assert found != {f"{name}/fine/{k}": v for k, v in evaluate(x, y, ["recall@1", "map"], **masks).items()}


def test_batches_carry_observed_labels_alone(make_spec, data_root):
    data = open_data(make_spec(rate=0.3), data_root)
    clean = data.labels("coarse", data.rows)
    assert np.mean(clean != data.observed) == pytest.approx(0.3, abs=1 / len(clean))


@pytest.mark.parametrize("loss", ["triplet", "margin", "proxy_nca"])
def test_resumed_equals_uninterrupted_bit_for_bit(make_spec, data_root, tmp_path, loss):
    policies = (None, None) if loss == "proxy_nca" else ("random", "distance_weighted")
    whole = finish(Training(make_spec(loss, *policies), data_root, tmp_path / "whole"))
    broken = tmp_path / "broken"
    while True:
        training = Training(make_spec(loss, *policies), data_root, broken)  # a new process's view each time
        if training.finished:
            break
        training.advance()
    assert training.result().scores == whole.result().scores
    assert training.result().curve == whole.result().curve
    assert same_state(training.model, whole.model)
    assert same_state(training.loss, whole.loss)


def test_reading_ahead_changes_nothing(make_spec, data_root, tmp_path):
    whole = finish(Training(make_spec(), data_root, tmp_path / "whole")).result()
    while True:
        training = Training(make_spec(), data_root, tmp_path / "ahead")
        training._feeder._ahead = True
        if training.finished:
            break
        training.advance()
        assert training._feeder._pending is not None
        training.close()
    assert training.result().scores == whole.scores
    assert training.result().curve == whole.curve


def test_a_trial_killed_between_evaluations_resumes_from_its_last_checkpoint(make_spec, data_root, tmp_path):
    spec = make_spec(steps=8, evaluation={"every": 8})
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    killed = Training(spec, data_root, tmp_path / "killed", checkpoint_seconds=0)
    step = killed._train_step

    def dies_at_the_sixth(bad):
        if killed.step == 5:
            raise KeyboardInterrupt
        return step(bad)

    killed._train_step = dies_at_the_sixth
    with pytest.raises(KeyboardInterrupt):
        killed.advance()
    resumed = Training(spec, data_root, tmp_path / "killed")
    assert resumed.step == 5
    assert finish(resumed).result().scores == whole.result().scores
    assert same_state(resumed.model, whole.model)


def test_a_trial_that_ended_leaves_the_checkpoints_that_the_study_keeps(make_spec, data_root, tmp_path):
    for keep in ([], ["last"], ["last", "best"]):
        folder = tmp_path / "-".join(["kept", *keep])
        spec = make_spec(phase="tune", keep_checkpoints=keep, evaluation={"every": 2, "sets": ["validation"]})
        training = finish(Training(spec, data_root, folder))
        training.discard_checkpoint()
        assert {path.stem for path in folder.glob("checkpoint/*")} == set(keep)
    scores = {point.step: point.scores["validation/fine/recall@1"] for point in training.result().curve}
    best = checkpoint.load(folder / "checkpoint" / "best.pt")["step"]
    assert best == max(scores, key=lambda step: (scores[step], -step))
    assert checkpoint.load(folder / "checkpoint" / "last.pt")["step"] == 12


def test_a_sampler_without_a_limit_on_classes_leaves_the_miner_every_positive(make_spec, data_root):
    """With `random` batches a class may have more than `per_class` images, and the nearest of them must be found."""
    spec = make_spec(batch={"sampler": "random", "classes": 2, "per_class": 16})
    mine = build_miner(spec, build_loss(spec, 2))
    labels = torch.tensor([0] * 28 + [1] * 4)
    mine(torch.randn(32, 8, generator=torch.Generator().manual_seed(0)), labels)
    assert int(mine.last["cut_positives"]) == 0


def test_a_trial_tells_how_skewed_its_negatives_are_drawn(make_spec, data_root, tmp_path):
    """The report puts the bound that follows from eta beside the measured break point."""
    batch = {"sampler": "balanced", "classes": 2, "per_class": 32}
    spec = make_spec(negatives="random", steps=120, batch=batch, evaluation={"every": 120})
    training = finish(Training(spec, data_root, tmp_path))
    assert 1 <= training.result().diagnostics["eta"] < 100


def test_the_golden_curve(make_spec, data_root, tmp_path):
    """Recorded on a CPU. A change here means that every earlier result has changed too."""
    spec = make_spec(steps=30, evaluation={"every": 10, "metrics": ["map@r"], "sets": ["test"]})
    curve = finish(Training(spec, data_root, tmp_path)).result().curve
    assert [p.scores["test/fine/map@r"] for p in curve] == pytest.approx(GOLDEN, abs=0.015)


GOLDEN = [0.2382, 0.2647, 0.2767]


def test_the_caller_keeps_its_random_state(make_spec, data_root, tmp_path):
    before = torch.get_rng_state()
    finish(Training(make_spec(), data_root, tmp_path))
    assert torch.equal(torch.get_rng_state(), before)


def test_another_seed_is_another_trial(make_spec, data_root, tmp_path):
    zero, one = (finish(Training(make_spec(seed=s), data_root, tmp_path / str(s))) for s in (0, 1))
    assert zero.result().scores != one.result().scores


def test_a_loss_that_is_not_finite_stops_the_trial_and_names_the_step(make_spec, data_root, tmp_path):
    training = Training(make_spec(optimizer="sgd", learning_rate=1e30), data_root, tmp_path)
    with pytest.raises(TrainingError, match=r"infinite or NaN (at|by) step \d+ of 12.*learning rate 1e\+30"):
        finish(training)


def test_a_confirmed_trial_leaves_a_model_that_embeds_as_it_did(make_spec, data_root, tmp_path):
    spec = make_spec(evaluation={"keep_embeddings": True})
    training = finish(Training(spec, data_root, tmp_path))
    rows = training.data.evaluation_rows("seen")
    own = torch.nn.functional.normalize(training.embed(rows)).numpy()
    embedder = TrainedEmbedder(tmp_path / "model")
    np.testing.assert_allclose(embedder(training.data.packed.images[rows]), own, atol=1e-6)
    kept = np.load(tmp_path / "embeddings.npz")
    np.testing.assert_array_equal(np.unique(kept["set"]), ["seen", "test"])
    np.testing.assert_array_equal(kept["labels_fine"][kept["set"] == "seen"], training.data.labels("fine", rows))


def test_the_embedder_refuses_images_of_another_kind(make_spec, data_root, tmp_path):
    finish(Training(make_spec(steps=1), data_root, tmp_path))
    embedder = TrainedEmbedder(tmp_path / "model")
    with pytest.raises(
        ValueError, match=r"expected uint8 images of shape \(N, 8, 8, 1\), got float64 of shape \(2, 8, 8, 1\)"
    ):
        embedder(np.zeros((2, 8, 8, 1)))
    assert embedder(np.zeros((0, 8, 8), np.uint8)).shape == (0, 8)


def test_what_data_and_network_decide_is_filled_in(make_spec):
    loss = build_loss(make_spec("proxy_nca", None), classes=7)
    assert next(loss.parameters()).shape == (7, 8)


def test_the_miner_shares_the_losss_margin_and_distance(make_spec):
    spec = make_spec("triplet", loss_settings={"margin": 0.05, "distance": "squared"})
    loss = build_loss(spec, 2)
    assert loss.mining == {"margin": 0.05, "distance": "squared"}
    assert build_miner(spec, loss) is not None


def test_missing_stages_are_named(make_spec, data_root, tmp_path):
    with pytest.raises(FileNotFoundError, match="the stage `pack` makes it"):
        Training(make_spec(), tmp_path / "nothing", tmp_path / "trial")
    other = replace(make_spec(), noise={"model": "uniform", "rate": 0.7, "settings": {}})
    with pytest.raises(FileNotFoundError, match=r"no labels for noise 'uniform', rate 0.7.*stage `corrupt`"):
        Training(other, data_root, tmp_path / "trial")


@pytest.mark.parametrize(("precision", "channels_last"), [("bfloat16", False), ("bfloat16", True)])
def test_half_precision_trains_to_nearly_the_same(make_spec, data_root, tmp_path, precision, channels_last):
    full = finish(Training(make_spec(), data_root, tmp_path / "full")).result().scores
    half = make_spec(precision=precision, channels_last=channels_last)
    scores = finish(Training(half, data_root, tmp_path / "half")).result().scores
    assert scores == pytest.approx(full, abs=0.06)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_trains_as_a_cpu_does(make_spec, data_root, tmp_path):
    cpu = finish(Training(make_spec(steps=120), data_root, tmp_path / "cpu")).result().scores
    gpu = finish(Training(make_spec(steps=120), data_root, tmp_path / "gpu", device="cuda")).result().scores
    assert gpu == pytest.approx(cpu, abs=0.05)
