"""docs/from-pml.md: losses and miners in the trainers of pytorch-metric-learning and in OML."""

import re
from pathlib import Path

import pytest
import torch

import dml
from dml import discovery

PAGE = (Path(__file__).parents[1] / "docs" / "from-pml.md").read_text(encoding="utf-8")
BEFORE, AFTER, OML = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
TRAINER, MEMORY, ADAPTER = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def batch():
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(8).repeat_interleave(4)
    return torch.randn(32, 16, generator=draw).requires_grad_(), labels


def test_the_six_lines_before_and_after_give_gradients(batch):
    for code in (BEFORE, AFTER):
        embeddings, labels = batch
        embeddings.grad = None
        exec(code, {"embeddings": embeddings, "labels": labels})
        assert embeddings.grad.abs().sum() > 0, code


def test_its_trainer_trains_with_a_loss_and_a_miner_of_ours():
    space = {}
    exec(TRAINER, space)
    images = torch.stack([image for image, _ in space["data"]])
    torch.manual_seed(0)
    start = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))
    with torch.no_grad():
        before, after = (
            dml.evaluation.evaluate(trunk(images), torch.tensor(space["labels"]), metrics=["map@r"])["map@r"]
            for trunk in (start, space["trunk"])
        )
    assert len(space["values"]) == 20
    assert after > before + 0.1, (before, after)


def pair_losses():
    needed = {"num_classes": 8, "embedding_size": 16}
    for name in discovery.names("dml.losses"):
        part = discovery.find("dml.losses", name)
        loss = part(**{key: value for key, value in needed.items() if key in discovery.settings_of(part)})
        if loss.uses_tuples and not isinstance(loss, dml.losses.Trimmed):
            yield pytest.param(loss, id=name)


@pytest.mark.parametrize("miner", [None, "TripletMarginMiner", "MultiSimilarityMiner"])
@pytest.mark.parametrize("loss", pair_losses())
def test_its_memory_gives_our_losses_the_value_and_gradient_of_batch_and_memory_in_one(loss, miner, batch):
    from pytorch_metric_learning import miners
    from pytorch_metric_learning.utils import loss_and_miner_utils as utils

    space = {}
    exec(MEMORY, space)
    mine = getattr(miners, miner)() if miner else None
    remembered = space["CrossBatchMemory"](loss, embedding_size=16, memory_size=48, miner=mine)
    draw, (_, labels) = torch.Generator().manual_seed(1), batch
    for _ in range(3):  # the ring is full from the second on
        x = torch.randn(32, 16, generator=draw).requires_grad_()
        value = remembered(x, labels)
        (gradient,) = torch.autograd.grad(value, x)
        held = 48 if remembered.has_been_filled else remembered.queue_idx
        rows, others = remembered.embedding_memory[:held], remembered.label_memory[:held]
        lists = mine(x, labels, rows, others) if mine else utils.get_all_pairs_indices(labels, others)
        lists = utils.remove_self_comparisons(lists, remembered.curr_batch_idx, 48)
        anchors = (0,) if len(lists) == 3 else (0, 2)
        moved = tuple(column + 32 * (place not in anchors) for place, column in enumerate(lists))
        expected = loss(torch.cat((x, rows)), torch.cat((labels, others)), moved)
        expected = expected * ((32 + held) / 32 if loss.left_out == "counted" else 1)  # a mean over anchors
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(gradient, torch.autograd.grad(expected, x)[0])
        assert gradient.abs().sum() > 0
