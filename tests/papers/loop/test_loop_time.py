"""LoOp's time: the numbers are those of the benchmark's page, and the verdict follows from them."""

import re
from pathlib import Path

import pytest

from papers.loop.verdicts import of_time

PAGE = (Path(__file__).parents[3] / "docs/benchmarks/loop.md").read_text(encoding="utf-8")


def test_the_numbers_are_those_of_the_benchmarks_page():
    alone = re.findall(r"^\| (\d+) \| (none|loop) \| ([\d.]+) \|", PAGE, flags=re.MULTILINE)
    step = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| [+-]", PAGE, flags=re.MULTILINE)
    times = of_time.times().set_index(["measured", "batch"])
    assert len(alone) + 2 * len(step) == 2 * len(times) == 14
    for batch, name, value in alone:
        assert times.loc[("loss", int(batch)), {"none": "plain"}.get(name, name)] == float(value)
    for batch, *values in step:
        assert list(times.loc[("step", int(batch)), ["plain", "loop"]]) == list(map(float, values))


@pytest.mark.parametrize(("added", "word"), [(0.05, "confirmed"), (0.3, "refuted")])
def test_the_same_at_each_batch_size_decides(monkeypatch, added, word):
    times = of_time.times().assign(added=added)
    monkeypatch.setattr(of_time, "times", lambda: times)
    assert of_time.time().verdict == word
