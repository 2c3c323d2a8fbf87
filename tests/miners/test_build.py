import pytest
import torch

from dml import discovery
from dml.miners import ForeignMiner, PolicyMiner, build


def test_names():
    assert discovery.names("dml.miners.positives") == (
        "all",
        "easy",
        "hard",
        "multi_similarity",
        "random",
        "semihard",
    )
    assert discovery.names("dml.miners.negatives") == (
        "all",
        "distance_weighted",
        "hard",
        "multi_similarity",
        "random",
        "semihard_fixed",
        "semihard_random",
    )


def test_every_setting_goes_with_every_pair():
    """A study has one set of settings for all its pairs."""
    mine = build(
        positives="easy",
        negatives="hard",
        margin=0.3,
        epsilon=0.2,
        cutoff=0.4,
        max_distance=1.3,
        window=True,
        normalize=False,
        distance="squared",
        padded=True,
        max_per_class=4,
    )
    assert isinstance(mine, PolicyMiner)
    assert (mine.normalize, mine.distance, mine.padded, mine.max_per_class) == (False, "squared", True, 4)
    assert repr(mine) == "PolicyMiner(Easy, Hard, distance='squared', padded=True)"


def test_settings_reach_their_policies():
    settings = {"margin": 0.3, "window": True, "epsilon": 0.2, "cutoff": 0.4, "max_distance": 1.3}
    semihard = build(positives="multi_similarity", negatives="semihard_random", **settings)
    assert semihard.positives.epsilon == 0.2
    assert (semihard.negatives.margin, semihard.negatives.window) == (0.3, True)
    weighted = build(positives="all", negatives="distance_weighted", **settings).negatives
    assert (weighted.cutoff, weighted.max_distance) == (0.4, 1.3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positives": "easy", "negatives": "semihard"}, r"negatives: unknown name 'semihard'.*semihard_fixed"),
        ({"positives": "eazy", "negatives": "hard"}, r"positives: unknown name 'eazy'; did you mean 'easy'\?"),
        ({"positives": "easy"}, r"name of a policy for 'negatives', got None. Choices: all, distance_weighted"),
        ({}, r"name of a policy for 'positives', got None. Choices: all, easy"),
        ({"positives": "easy", "negatives": "hard", "margn": 1}, r"'margn'; did you mean 'margin'\?.*cutoff, distance"),
        ({"positives": "easy", "negatives": "hard", "distance": "cosine"}, r"'cosine'. Choices: euclidean, squared"),
        ({"positives": "easy", "negatives": "hard", "max_per_class": 0}, r"max_per_class: expected .* from 1 up"),
    ],
)
def test_what_is_wrong_is_said(settings, message):
    with pytest.raises(ValueError, match=message):
        build(**settings)


def test_a_name_that_is_no_path():
    with pytest.raises(ValueError, match=r"expected a dotted path to a class, got 'easy'.*positives \(all, easy"):
        build("easy")


def test_a_policy_by_its_dotted_path():
    mine = build(positives="dml.miners.positives.easy.Easy", negatives="hard")
    assert isinstance(mine, PolicyMiner)


@pytest.mark.parametrize(
    ("embeddings", "labels", "message"),
    [
        (torch.zeros(4), torch.zeros(4, dtype=torch.int64), r"embeddings: expected \(N, D\).*got \(4,\)"),
        (torch.zeros(4, 2, dtype=torch.int64), torch.zeros(4, dtype=torch.int64), r"embeddings: .*torch.int64"),
        (torch.zeros(4, 2), torch.zeros(3, dtype=torch.int64), r"labels: expected integers \(4,\), got \(3,\)"),
        (torch.zeros(4, 2), torch.zeros(4), r"labels: expected integers \(4,\), got \(4,\) torch.float32"),
    ],
)
def test_a_wrong_batch(embeddings, labels, message):
    with pytest.raises(ValueError, match=message):
        build(positives="easy", negatives="hard")(embeddings, labels)


def test_embeddings_are_left_alone():
    embeddings = torch.randn(8, 4, requires_grad=True)
    before = embeddings.detach().clone()
    tuples = build(positives="easy", negatives="distance_weighted", normalize=False)(embeddings, torch.arange(8) // 2)
    assert torch.equal(embeddings.detach(), before)
    assert embeddings.grad is None
    assert not any(column.requires_grad for column in tuples)


def test_a_foreign_miner_is_one_too():
    pytest.importorskip("pytorch_metric_learning")
    assert isinstance(build("pytorch_metric_learning.miners.MultiSimilarityMiner", epsilon=0.2), ForeignMiner)
    with pytest.raises(ValueError, match="cannot be imported"):
        build("pytorch_metric_learning.miners.NoSuchMiner")
    with pytest.raises(ValueError, match="expected a class"):
        build("pytorch_metric_learning.miners.base_miner")
