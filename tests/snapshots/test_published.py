"""What is published: each snapshot is small and of a study that exists; all verdicts are `tests/golden/verdicts.csv`.

`pytest --golden-update tests/snapshots/test_published.py` writes that file. Its diff shows what a change of an
interval, a test or a claim does to the answers.
"""

import csv
from pathlib import Path

import pytest

from dml.config.loading import ATTRIBUTE, recorded
from dml.pipeline.publish import snapshot_studies
from dml.report.claims import with_verdicts
from dml.report.loading import load
from dml.report.wording import evidence
from dml.snapshots import LARGEST, Snapshot

pytestmark = pytest.mark.slow  # all snapshots are read
ROOT = Path(__file__).parents[2]
SNAPSHOTS = ROOT / "docs" / "results"
GOLDEN = ROOT / "tests" / "golden" / "verdicts.csv"
COLUMNS = ["study", "claim", "verdict", "found", "test", "p"]


@pytest.fixture(scope="module")
def published():
    """The results of each study, from its snapshot."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return [load(s, SNAPSHOTS / "none", None, Snapshot(SNAPSHOTS / s.name)) for s in snapshot_studies()]


def test_every_snapshot_is_whole_small_and_of_a_study_that_exists(published):
    sizes = {r.study.name: sum(f.stat().st_size for f in _files(r.study.name)) for r in published}
    assert all(size <= LARGEST for size in sizes.values()), sizes
    assert sum(sizes.values()) <= 15 * LARGEST
    for results in published:
        trials = Snapshot(SNAPSHOTS / results.study.name).trials()
        ran = recorded(trials.attrs[ATTRIBUTE], results.study)  # raises if a setting or a part is gone
        assert set(trials["cell"]) <= {cell.name for cell in ran.cells()}
        assert not results.missing(), results.study.name


def test_the_verdicts_are_those_of_the_golden_file(published, request, monkeypatch):
    monkeypatch.chdir(ROOT)
    verdicts = (verdict for results in with_verdicts(published) for verdict in results.verdicts)
    now = [COLUMNS, *sorted(map(_row, verdicts))]
    if request.config.getoption("--golden-update"):
        with GOLDEN.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(now)
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        then = list(csv.reader(file))
    assert [row for row in now if row not in then] == [row for row in then if row not in now]


def _files(name):
    return [path for path in (SNAPSHOTS / name).rglob("*") if path.is_file()]


def _row(verdict):
    """`p` has, for each part, those of the questions whether the claim holds and whether it fails, uncorrected."""
    shown = evidence(verdict)
    p = "; ".join(f"{effect.confirming:.3g}, {effect.refuting:.3g}" for effect in verdict.effects)
    claim = verdict.claim.id or f"{verdict.claim.paper}: {verdict.claim.text}"
    return [verdict.study, claim, verdict.word, shown.text, shown.smaller, p]
