"""What LoOp needs: the counts beside enumerated combinations, and a verdict that can be refuted."""

import itertools

import pytest

from papers.loop.theory import synthesis_cost
from papers.loop.verdicts import of_memory


@pytest.mark.parametrize(("batch", "per_class"), [(32, 2), (64, 4), (128, 8)])
def test_combinations_are_those_of_alternate_samples(batch, per_class):
    pairs = [i // per_class for i in range(0, batch, 2)]  # the class of each fixed pair
    expected = sum(a != b for a, b in itertools.combinations(pairs, 2))
    assert synthesis_cost.combinations()[batch, per_class] == expected == batch * (batch - per_class) // 8


def test_the_largest_tensor_of_expansion_has_all_points_of_all_pairs():
    for cost in synthesis_cost.costs():
        if cost.points:
            assert cost.largest == (cost.batch // 2 * (cost.points + 2)) ** 2
        else:
            assert cost.largest == cost.batch**2


def test_work_that_grows_faster_is_refuted(monkeypatch):
    faster = tuple(c._replace(made=c.made * c.batch) if c.synthesis == "loop" else c for c in synthesis_cost.costs())
    monkeypatch.setattr(of_memory, "costs", lambda: faster)
    assert of_memory.memory().verdict == "refuted"


def test_another_number_of_combinations_is_refuted(monkeypatch):
    monkeypatch.setattr(of_memory, "combinations", lambda: {(32, 4): 113})
    assert of_memory.memory().verdict == "refuted"
