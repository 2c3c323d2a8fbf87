"""Every verdict of the published results, as the report prints it: `tests/golden/verdicts.csv`.

`pytest --golden-update tests/papers/test_verdicts.py` writes the file. Its diff shows what a change of an interval, a
test or a claim does to the answers.
"""

import csv
from pathlib import Path

import pytest

from dml.pipeline.publish import snapshot_studies
from dml.report.claims import with_verdicts
from dml.report.loading import load
from dml.report.wording import evidence
from dml.snapshots import Snapshot

pytestmark = pytest.mark.slow  # all snapshots are read
ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "verdicts.csv"
COLUMNS = ["study", "claim", "verdict", "found", "test", "p"]


def test_the_verdicts_are_those_of_the_golden_file(request, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder = ROOT / "docs" / "results"
    loaded = with_verdicts([load(s, folder / "none", None, Snapshot(folder / s.name)) for s in snapshot_studies()])
    now = [COLUMNS, *sorted(map(_row, (verdict for results in loaded for verdict in results.verdicts)))]
    if request.config.getoption("--golden-update"):
        with GOLDEN.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(now)
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        then = list(csv.reader(file))
    assert [row for row in now if row not in then] == [row for row in then if row not in now]


def _row(verdict):
    """`p` has, for each part, those of the questions whether the claim holds and whether it fails, uncorrected."""
    shown = evidence(verdict)
    p = "; ".join(f"{effect.confirming:.3g}, {effect.refuting:.3g}" for effect in verdict.effects)
    own = verdict.claim.id or f"{verdict.claim.paper}: {verdict.claim.text}"
    return [verdict.study, own, verdict.word, shown.text, shown.smaller, p]
