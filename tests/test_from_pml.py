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


def test_each_name_of_the_table_exists_in_its_library():
    import pytorch_metric_learning as pml
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    rows = re.findall(r"^\| (`.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    known = {name for room in (pml.losses, pml.miners, pml.samplers, pml.testers) for name in dir(room)}
    known |= {"testers", "samplers", "AccuracyCalculator", *AccuracyCalculator().get_curr_metrics()}
    assert len(rows) > 10
    for theirs, ours in rows:
        for name in re.findall(r"`(?:\w+\.)?(\w+)[^`]*`", theirs):
            assert name in known, name
        for name in re.findall(r"`losses\.(\w+)`", ours):
            assert callable(getattr(dml.losses, name)), name
        for code in re.findall(r"`(miners\.build\([^`.]*\))`", ours):
            assert callable(eval(f"dml.{code}", {"dml": dml})), code
