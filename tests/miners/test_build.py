"""Miners by name: settings, declarations, errors."""

import inspect

import pytest
import torch

from dml import discovery
from dml.miners import PolicyMiner, build
from dml.protocols import NegativePolicy, PositivePolicy


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


PARTS = [(kind, name) for kind in ("positives", "negatives") for name in discovery.names(f"dml.miners.{kind}")]


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_declarations(kind, name):
    """As the protocols say; a study's settings are for all policies, so one name has one default."""
    part = discovery.find(f"dml.miners.{kind}", name)
    protocol = {"positives": PositivePolicy, "negatives": NegativePolicy}[kind]
    assert isinstance(part.version, int)
    assert list(inspect.signature(part.__call__).parameters) == list(inspect.signature(protocol.__call__).parameters)
    settings = discovery.settings_of(part)
    assert set(discovery.defaults_of(part)) == set(settings)
    assert len(settings) == (0 if part.__init__ is object.__init__ else len(inspect.signature(part).parameters))
    for other in PARTS:
        theirs = discovery.defaults_of(discovery.find(f"dml.miners.{other[0]}", other[1]))
        assert all(theirs[key] == value for key, value in discovery.defaults_of(part).items() if key in theirs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positives": "easy", "negatives": "semihard"}, r"negatives: .*'semihard'.*semihard_fixed"),
        ({"positives": "eazy", "negatives": "hard"}, r"positives: .*'eazy'.*'easy'"),
        ({"positives": "easy"}, r"'negatives', got None.*all, distance_weighted"),
        ({}, r"'positives', got None.*all, easy"),
        ({"positives": "easy", "negatives": "hard", "margn": 1}, r"'margn'.*'margin'.*cutoff, distance"),
        ({"positives": "easy", "negatives": "hard", "distance": "cosine"}, r"'cosine'.*euclidean, squared"),
        ({"positives": "easy", "negatives": "hard", "max_per_class": 0}, r"max_per_class: .*got 0"),
    ],
)
def test_what_is_wrong_is_said(settings, message):
    with pytest.raises(ValueError, match=message):
        build(**settings)


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
