"""docs/ideas/tuning.md: its numbers are those of the published snapshots."""

import re
from pathlib import Path

import pytest
from synthetic import KEY

from dml.report.analysis.interval_coverage import of_score
from dml.report.analysis.paired import versus_winner

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/ideas/tuning.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def both(published):
    return [published(name) for name in ("numbers-fixed", "numbers-tuned")]


def means(results, rate):
    names = results.cells_of("numbers", "uniform", rate)
    return {results.cells[name].loss.name: results.values(name, KEY).mean() for name in names}


def test_each_number_of_the_table(both):
    rows = re.findall(r"^\| (\d+)% \| (\w+) \| (.+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    assert len(rows) == len(both[0].cells) == 8
    for rate, loss, *shown in rows:
        for results, text in zip(both, shown, strict=True):
            found = results.cells_of("numbers", "uniform", int(rate) / 100)
            (name,) = (own for own in found if results.cells[own].loss.name == loss)
            own = of_score(results, KEY, {name: 1.0})
            assert text == f"{results.values(name, KEY).mean():.1f} [{own.low:.1f}, {own.high:.1f}]"


def test_what_it_says_about_the_orders(both):
    order = [sorted(clean := means(results, 0.0), key=clean.get, reverse=True)[:3] for results in both]
    assert order[0] == ["contrastive", "triplet", "multi_similarity"]
    assert order[1] == ["multi_similarity", "contrastive", "triplet"]
    at_one, tuned = (means(results, 0.4) for results in both)
    assert at_one["triplet"] - at_one["contrastive"] == pytest.approx(11.2, abs=0.06)
    assert tuned["triplet"] == pytest.approx(tuned["contrastive"], abs=0.1)
    assert at_one["triplet"] - tuned["triplet"] == pytest.approx(6.9, abs=0.06)
    rows = [versus_winner(results).query("rate == 0") for results in both]
    behind = rows[0][rows[0]["other"].str.contains("multi_similarity")].iloc[0]
    assert (round(behind["difference"], 1), round(behind["p adjusted"], 3)) == (4.0, 0.001)
    assert (rows[1][~rows[1]["other"].str.contains("whitening")]["p adjusted"] > 0.05).all()
