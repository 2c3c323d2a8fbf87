"""A resumed trial gives the numbers of the uninterrupted one, bit for bit, and leaves the right checkpoints."""

import pytest
import torch

from dml.sweep.execution.trial_run import training as make_trainer
from dml.training import loop, resuming
from dml.training.loop import Training

pytestmark = pytest.mark.slow


def assert_same(resumed: Training, whole: Training) -> None:
    one, two = resumed.result(), whole.result()
    assert one.scores == two.scores
    assert one.curve == two.curve
    assert one.counts == two.counts
    assert {**one.diagnostics, "images_per_second": 0} == {**two.diagnostics, "images_per_second": 0}
    torch.testing.assert_close(resumed.model.state_dict(), whole.model.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(resumed.loss.state_dict(), whole.loss.state_dict(), rtol=0, atol=0)


def resume_after_each_evaluation(spec, data_root, folder, prefetch: bool = False) -> Training:
    """A new object for each evaluation, as in a new process."""
    while True:
        training = Training(spec, data_root, folder)
        training._batches._prefetch = prefetch
        if training.finished:
            return training
        training.advance()
        assert (training._batches._pending is not None) == prefetch
        training.close()


@pytest.mark.parametrize("loss", ["triplet", "margin", "proxy_nca"])
def test_resumed_equals_uninterrupted_bit_for_bit(make_spec, data_root, tmp_path, finish, loss):
    policies = (None,) if loss == "proxy_nca" else ("random", "distance_weighted")
    spec = make_spec(loss, *policies)
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    assert_same(resume_after_each_evaluation(spec, data_root, tmp_path / "broken"), whole)


@pytest.mark.parametrize("settings", [{"warmup_steps": 5, "weight_decay": 0.1}, {"head_start": "lda"}])
def test_warm_up_and_the_head_s_start_resume(make_spec, data_root, tmp_path, finish, settings):
    whole = finish(Training(make_spec(**settings), data_root, tmp_path / "whole"))
    resumed = resume_after_each_evaluation(make_spec(**settings), data_root, tmp_path / "broken")
    assert_same(resumed, whole)
    torch.testing.assert_close(resumed.trained.state_dict(), whole.trained.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("stop_at", [0, 6, 8])
def test_a_trial_that_ends_before_its_schedule_resumes(make_spec, data_root, tmp_path, finish, stop_at):
    spec = make_spec("margin", "random", "distance_weighted", stop_at=stop_at)
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    assert [point.step for point in whole.result().curve] == [4, stop_at][-1 if not stop_at else 0 :]
    assert_same(resume_after_each_evaluation(spec, data_root, tmp_path / "broken"), whole)


def test_a_trial_that_is_evaluated_before_its_first_step_resumes(make_spec, data_root, tmp_path, finish):
    spec = make_spec(phase="tune", evaluation={"at_start": True})
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    assert [point.step for point in whole.result().curve] == [0, 4, 8, 12]
    assert_same(resume_after_each_evaluation(spec, data_root, tmp_path / "broken"), whole)


def test_every_random_stream_resumes(own_parts, make_spec, data_root, tmp_path, finish):
    """Dropout draws from the global random state, and the augmentation from its own generator."""
    own = {"backbone": "training_parts.Backbone", "augment": "training_parts.Augment"}
    spec = make_spec(**own, backbone_settings={"dropout": 0.5})
    whole = finish(Training(spec, data_root, tmp_path / "whole"))
    assert_same(resume_after_each_evaluation(spec, data_root, tmp_path / "broken"), whole)


def test_prefetching_changes_no_number(make_spec, data_root, tmp_path, finish):
    whole = finish(Training(make_spec(), data_root, tmp_path / "whole"))
    assert_same(resume_after_each_evaluation(make_spec(), data_root, tmp_path / "ahead", prefetch=True), whole)


@pytest.mark.parametrize(("method", "step"), [("_train_step", 5), ("evaluate", 4)])
def test_a_killed_trial_resumes_from_its_last_checkpoint(
    make_spec, data_root, tmp_path, monkeypatch, finish, method, step
):
    """Whether it is killed in training, or in an evaluation."""
    whole = finish(Training(make_spec(steps=8), data_root, tmp_path / "whole"))
    killed = Training(make_spec(steps=8), data_root, tmp_path / "killed", checkpoint_seconds=0)
    original = getattr(killed, method)

    def dies():
        if killed.step == step:
            raise KeyboardInterrupt
        return original()

    monkeypatch.setattr(killed, method, dies)
    with pytest.raises(KeyboardInterrupt):
        finish(killed)
    resumed = Training(make_spec(steps=8), data_root, tmp_path / "killed")
    assert 0 < resumed.step <= step
    assert_same(finish(resumed), whole)


def test_a_trial_killed_while_it_saves_its_model_saves_it_when_resumed(make_spec, data_root, tmp_path, monkeypatch):
    def dies(*arguments):
        raise KeyboardInterrupt

    killed = Training(make_spec(steps=4), data_root, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(loop, "save_model", dies)
        with pytest.raises(KeyboardInterrupt):
            killed.advance()
    resumed = Training(make_spec(steps=4), data_root, tmp_path)
    assert not resumed.finished
    resumed.advance()
    assert (tmp_path / "model" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state.pop("diagnostics"),
        lambda state: state["history"].pop("curve"),
        lambda state: state["model"].popitem(),
        lambda state: state.update(optimizer={}),
    ],
    ids=["no field", "no curve", "a weight less", "no optimizer"],
)
def test_a_checkpoint_of_other_code_is_moved_aside_and_the_trial_starts_anew(
    make_spec, data_root, tmp_path, finish, damage, capsys
):
    spec = make_spec(steps=6, evaluation={"every": 3})
    training = Training(spec, data_root, tmp_path)
    training.advance()
    training.close()
    path = tmp_path / "checkpoint" / "last.pt"
    state = resuming.load(path)
    damage(state)
    resuming.save(path, state)

    again = make_trainer(spec, data_root, tmp_path, "cpu")
    assert again.step == 0
    assert path.with_suffix(".unusable").is_file()
    assert str(path) in capsys.readouterr().err
    assert_same(finish(again), finish(Training(spec, data_root, tmp_path / "whole")))
