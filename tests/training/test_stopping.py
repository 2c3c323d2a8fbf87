"""A trial that ends before its schedule does, and the curves that decide it: never from test classes."""

import dataclasses

import numpy as np
import pytest
import torch

from dml.training import loop
from dml.training.data import EVALUATION_ROLES
from dml.training.loop import Training

pytestmark = pytest.mark.slow


def rates_of(training):
    """The learning rate of each step that a trial makes."""
    found = []
    training._optimizer.register_step_pre_hook(
        lambda optimizer, *arguments: found.append([group["lr"] for group in optimizer.param_groups])
    )
    return found


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
@pytest.mark.parametrize("loss", ["triplet", "margin"])
def test_the_schedule_is_cut_not_squeezed(make_spec, data_root, tmp_path, finish, schedule, loss):
    """Up to its last step the trial is the full one, bit for bit: rates, weights and scores."""
    whole = Training(make_spec(loss, schedule=schedule), data_root, tmp_path / "whole")
    cut = Training(make_spec(loss, schedule=schedule, stop_at=8), data_root, tmp_path / "cut")
    rates, rates_cut = rates_of(whole), rates_of(cut)
    while whole.step < 8:
        whole.advance()
    finish(cut)
    assert cut.step == cut.total_steps == 8
    assert rates_cut == rates[:8]
    torch.testing.assert_close(cut.model.state_dict(), whole.model.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(cut.loss.state_dict(), whole.loss.state_dict(), rtol=0, atol=0)
    assert [point.step for point in cut.result().curve] == [4, 8]
    finish(whole)
    assert len(rates) == 12
    assert cut.result().scores == whole.result().curve[1].scores
    squeezed = Training(make_spec(loss, schedule=schedule, steps=8), data_root, tmp_path / "squeezed")
    rates_squeezed = rates_of(squeezed)
    finish(squeezed)
    assert (rates_squeezed == rates_cut) == (schedule == "constant")


def test_an_evaluation_before_the_first_step_changes_no_number(make_spec, data_root, tmp_path, finish):
    plain = finish(Training(make_spec(phase="tune"), data_root, tmp_path / "plain"))
    spec = make_spec(phase="tune", evaluation={"at_start": True})
    with_start = Training(spec, data_root, tmp_path / "start")
    expected = with_start.evaluate()
    finish(with_start)
    (first, *rest), curve = with_start.result().curve, plain.result().curve
    assert (first.step, first.scores) == (0, expected)
    assert tuple(rest) == curve
    torch.testing.assert_close(with_start.model.state_dict(), plain.model.state_dict(), rtol=0, atol=0)


class Guarded(np.ndarray):
    """Images of which some rows must not be read."""

    forbidden = np.zeros(0, dtype=np.int64)
    reads = 0

    def __getitem__(self, key):
        rows = np.arange(len(self))[key[0] if isinstance(key, tuple) else key]
        if np.isin(rows, Guarded.forbidden).any():
            raise AssertionError("an image of a test class was read")
        Guarded.reads += 1
        return np.asarray(super().__getitem__(key))


def test_tuning_reads_neither_images_nor_labels_of_test_classes(make_spec, data_root, tmp_path, monkeypatch, finish):
    """Their labels are replaced by nonsense as well: no number of a tuning trial changes."""
    spec = make_spec(phase="tune", evaluation={"at_start": True, "sets": ("test",)})
    clean = finish(Training(spec, data_root, tmp_path / "clean")).result()
    opened = loop.open_trial
    poison = True

    def guarded(spec, data_root):
        data = opened(spec, data_root)
        column, roles = EVALUATION_ROLES["test"]
        Guarded.forbidden = data.split.loc[data.split[column].isin(roles), "index"].to_numpy()
        assert len(Guarded.forbidden)
        index = data.packed.index.copy()
        if poison:
            index.loc[Guarded.forbidden, ["fine", "coarse"]] = -999
        packed = dataclasses.replace(data.packed, images=np.asarray(data.packed.images).view(Guarded), index=index)
        return dataclasses.replace(data, packed=packed)

    monkeypatch.setattr(loop, "open_trial", guarded)
    Guarded.reads = 0
    tuned = finish(Training(spec, data_root, tmp_path / "guarded")).result()
    assert Guarded.reads > 0, "the images were read through the guard"
    assert set(tuned.scores) == {"validation/fine/recall@1", "validation/fine/nmi"}
    assert tuned.curve == clean.curve
    poison = False
    confirmed = Training(make_spec(stop_at=4), data_root, tmp_path / "confirmed")
    with pytest.raises(AssertionError, match="test class"):  # the guard works: confirmation reads them
        finish(confirmed)
    confirmed.close()
