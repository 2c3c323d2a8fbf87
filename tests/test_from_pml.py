"""docs/from-pml.md: losses and miners in the trainers of pytorch-metric-learning and in OML."""

import re
from pathlib import Path

import pytest
import torch

import dml

PAGE = (Path(__file__).parents[1] / "docs" / "from-pml.md").read_text(encoding="utf-8")
BEFORE, AFTER, OML = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
TRAINER, ADAPTER = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

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
