import pytest
import torch

from dml.miners import _choose


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_rank_stays_below_the_count():
    largest = torch.tensor(1.0).nextafter(torch.tensor(0.0))
    for count in (torch.arange(1, 2**20), torch.arange(2**24 - 2**20, 2**24)):
        assert torch.equal(_choose.rank(largest, count), count - 1)
        assert not _choose.rank(torch.tensor(0.0), count).any()
    assert _choose.rank(largest, torch.tensor(0)) == 0


def test_one_of():
    admissible = torch.tensor([[0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]).bool()
    uniform = torch.tensor([[0.0, 0.34, 0.67, 0.99]]).expand(3, 4)
    assert _choose.one_of(admissible, uniform).tolist() == [[1, 3, 4, 4], [-1] * 4, [0] * 4]


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_find_the_nearest_above(seed, monkeypatch):
    far = torch.randint(0, 6, (9, 9), generator=generator(seed)).double()  # with ties
    far[torch.rand(9, 9, generator=generator(seed)) < 0.3] = torch.inf
    low = torch.randint(-1, 6, (9, 5), generator=generator(seed + 100)).double()
    passes = _choose.nearest_above(far, low)
    monkeypatch.setattr(_choose, "FEW", 0)
    assert torch.equal(_choose.nearest_above(far, low), passes)


@pytest.mark.parametrize("few", [0, 9])
@pytest.mark.parametrize("bounded", [False, True])
def test_both_ways_draw_every_one_between(few, bounded, monkeypatch):
    monkeypatch.setattr(_choose, "FEW", few)
    far = torch.randint(0, 6, (9, 9), generator=generator(1)).double()
    far[torch.rand(9, 9, generator=generator(2)) < 0.3] = torch.inf
    low = torch.randint(-1, 4, (9, 3), generator=generator(3)).double() if bounded else None
    high = (1 if low is None else low) + torch.randint(0, 4, (9, 3), generator=generator(4)).double()
    drawn = [_choose.one_between(far, low, high, torch.rand(9, 3, generator=generator(s))) for s in range(200)]
    for row in range(9):
        for place in range(3):
            above = -torch.inf if low is None else float(low[row, place])
            inside = {c for c in range(9) if above < float(far[row, c]) < float(high[row, place])}
            assert {int(each[row, place]) for each in drawn} == (inside or {-1})
