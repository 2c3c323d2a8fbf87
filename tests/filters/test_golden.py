"""What every filter keeps of a sequence of batches."""

import pytest

from dml import discovery, filters


@pytest.mark.parametrize("name", discovery.names("dml.filters"))
def test_golden(name, golden, tools):
    part = discovery.find("dml.filters", name)
    values = {}
    for settings in ({"rate": 0.3, "warm_up": 2, "window": 3}, {"rate": 0.6, "memory": 50, "warm_up": 1}):
        given = discovery.accepted(part, settings)
        keep = tools.ready(filters.build_for(name, given, num_classes=5, embedding_size=6))
        values[str(settings)] = [keep(e, y).nonzero()[:, 0].tolist() for e, y, _ in tools.noisy_batches(12)]
    golden.check("filters", name, part, values)
