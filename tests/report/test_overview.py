"""`docs/results.md` is what the published studies and the theory page say."""

import re
from pathlib import Path

import pytest

from dml.config import load_study
from dml.config.paper_claims import paper_claims
from dml.report.answers import QUESTION
from dml.report.overview import FIGURES, overview
from dml.snapshots import snapshots

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
THEORY = {claim.claim for claim in paper_claims().values() if claim.decided_by == "theory"}


def stable(text: str) -> list[str]:
    """The lines, without the numbers of computations, whose last digits depend on the processor."""
    lines = []
    for line in text.splitlines():
        row = re.fullmatch(r"(\| \S+ \w+ \| ([^|]*\)) \|) .* \|", line)
        computed = row is not None and any(row[2].startswith(f"{claim} (") for claim in THEORY)
        lines.append(row[1] if row and computed else line)
    return lines


def test_numbers_of_computations_do_not_count():
    """Also where the place of a claim has brackets in its brackets."""
    row = next(
        line for line in (DOCS / "results.md").read_text(encoding="utf-8").splitlines() if "(contrastive))" in line
    )
    assert stable(row) == stable(re.sub(r"\d+e", "7e", row)) != [row]


def test_the_page_is_up_to_date():
    found = snapshots(DOCS / "results")
    studies = [load_study(ROOT / "pipelines/studies" / f"{snapshot.path.name}.yaml") for snapshot in found]
    expected = overview(studies, DOCS / "results", ROOT / "pipelines/studies")
    written = (DOCS / "results.md").read_text(encoding="utf-8")
    assert stable(written) == stable(expected), "docs/results.md is stale: `python pipelines/overview.py` writes it"
    assert sum(line.startswith("| ") and "refuted |" in line for line in stable(expected)) >= 7
    for snapshot in found:
        assert (DOCS / FIGURES / f"{snapshot.path.name}.png").is_file()
        assert f"make repro STUDY={snapshot.path.name}" in written
    for image in re.findall(r"!\[[^]]*\]\(([^)]+)\)", written):
        assert (DOCS / image).is_file(), image
    assert written.index(f"## {QUESTION}") < written.index("**In total**") < written.index("## The papers' claims")
    published = {snapshot.path.name for snapshot in found}
    listed = set(re.findall(r"- `make repro STUDY=([^`]+)`", written))
    assert listed == {path.stem for path in (ROOT / "pipelines/studies").glob("*.yaml")} - published


def test_a_trial_that_several_studies_share_counts_once():
    written = (DOCS / "results.md").read_text(encoding="utf-8")
    keys = [key for snapshot in snapshots(DOCS / "results") for key in snapshot.trials()["key"]]
    assert len(keys) > len(set(keys))
    assert f"{len(set(keys)):,} trials, " in written


def test_a_count_is_not_decided_by_training():
    """What trials decided is listed, and a snapshot, which holds no failed trial, says nothing of failures."""
    written = (DOCS / "results.md").read_text(encoding="utf-8")
    decided = re.findall(
        r"^- \S+ \*\*(?:confirmed|refuted)\*\*: (.*)$", written.partition("## The studies")[0], re.MULTILINE
    )
    (number,) = re.findall(r"are confirmed or refuted: (\d+) by training", written)
    assert len(decided) == int(number) >= 1
    assert all(re.search(r"\(`[a-z0-9-]+`", line) for line in decided)
    assert "B_S (B_S - N)" not in "".join(decided)
    assert not re.search(r"\*\*In total\*\*.*failure", written)


def test_what_a_study_itself_asks_is_answered_below_it():
    written = (DOCS / "results.md").read_text(encoding="utf-8")
    asked = [
        (study.title, " ".join(claim.text.split()))
        for snapshot in snapshots(DOCS / "results")
        for study in [load_study(ROOT / "pipelines/studies" / f"{snapshot.path.name}.yaml")]
        for claim in study.claims
        if claim.printed is None
    ]
    assert len(asked) >= 13
    for title, text in asked:
        own = written.partition(f"### {title}\n")[2].partition("\n### ")[0]
        assert re.search(rf"- \S+ \*\*(confirmed|refuted|undecided|not tested)\*\*: {re.escape(text)} ", own), text


def test_the_remarks_on_tests_are_there():
    """Such as that a question was asked after a look at the data."""
    written = (DOCS / "results.md").read_text(encoding="utf-8")
    published = [snapshot.path.name for snapshot in snapshots(DOCS / "results")]
    studies = [load_study(ROOT / "pipelines/studies" / f"{name}.yaml") for name in published]
    remarks = {
        (study.name, " ".join(claim.note.split()).rstrip("."), claim.printed is None)
        for study in studies
        for claim in study.claims
        if claim.note
    }
    assert {own for _, _, own in remarks} == {True, False}
    for study, remark, own in remarks:
        assert (f". {remark}." if own else f" (`{study}`: {remark})") in written


def test_numbers_of_theory_may_differ_and_verdicts_may_not():
    claim = next(iter(THEORY))
    assert stable(f"| ✓ confirmed | {claim} (sec. 1) | 1e-9 |") == stable(f"| ✓ confirmed | {claim} (sec. 1) | 2e-9 |")
    assert stable(f"| ✓ confirmed | {claim} (sec. 1) | x |") != stable(f"| ✕ refuted | {claim} (sec. 1) | x |")
    assert stable("| ✓ confirmed | Another (sec. 1) | +1.0 |") != stable("| ✓ confirmed | Another (sec. 1) | +2.0 |")
