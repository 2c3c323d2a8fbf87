import torch

from dml.miners import _batch


def test_rank_stays_below_the_count():
    largest = torch.tensor(1.0).nextafter(torch.tensor(0.0))
    for count in (torch.arange(1, 2**20), torch.arange(2**24 - 2**20, 2**24)):
        assert torch.equal(_batch.rank(largest, count), count - 1)
        assert not _batch.rank(torch.tensor(0.0), count).any()
    assert _batch.rank(largest, torch.tensor(0)) == 0
