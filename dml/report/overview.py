"""The site's page of results: what the published studies found, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from dml.config import Study
from dml.counting import counted
from dml.report.claims import with_verdicts
from dml.report.claims_page import by_training, claim_entries, is_by_training, papers_with_claims, theory_sections
from dml.report.labels import Texts, metric_label
from dml.report.loading import load
from dml.report.methods import IN_SHORT, after_comma, mark
from dml.report.numbers import duration
from dml.report.page.blocks import ClaimEntry, Column, Evidence, Folded, Paragraph, Table
from dml.report.page.markdown import Heading, Items, MarkdownBlock, Picture, markdown
from dml.report.regimes import END, FILE, START, TITLE, regimes
from dml.report.results import Results
from dml.report.verdicts import SIGNS
from dml.report.wording import evidence, text_of
from dml.snapshots import Snapshot

say = Texts(__file__)

CLAIMS = "[the papers' claims](#the-papers-claims), "
DECIDED = ("confirmed", "refuted", "undecided")
FIGURES = Path("figures/results")  # below docs: the key figure of each study


def overview(studies: Sequence[Study], snapshots: Path, files: Path) -> str:
    """The page as Markdown, of studies that are published.

    Parameters
    ----------
    snapshots : their folder.
    files : the folder of study files, which the file of cases is beside.
    """
    nowhere = Path("nowhere")
    loaded = with_verdicts([load(s, nowhere / s.name, None, Snapshot(snapshots / s.name)) for s in studies])
    entries = claim_entries([verdict for results in loaded for verdict in results.verdicts], theory_sections())
    blocks = (
        Heading(1, "Results"),
        Paragraph(say("head")),
        Paragraph(say("contents", claims=CLAIMS if entries else "")),
        Paragraph(IN_SHORT),
        *_regimes(loaded, files.parent / FILE),
        _totals(loaded),
        *_papers(entries, loaded),
        *_studies(loaded),
    )
    return markdown(blocks) + "\n"


def _regimes(studies: Sequence[Results], cases: Path) -> Iterator[MarkdownBlock]:
    table = regimes(studies, cases)
    if table is not None:
        yield from (Heading(2, TITLE), Paragraph(START), table, Paragraph(END))


def _totals(studies: Sequence[Results]) -> Paragraph:
    """Trials that several studies share count once."""
    trials = pd.concat([results.trials for results in studies]).drop_duplicates("key")
    what = counted(len(studies), "study")
    spent = duration(float(trials["seconds"].sum()))
    number = counted(len(trials), "trial")
    return Paragraph(say("total", studies=what, trials=number, spent=spent))


def _papers(entries: Sequence[ClaimEntry], studies: Sequence[Results]) -> Iterator[MarkdownBlock | None]:
    if not entries:
        return
    yield Heading(2, "The papers' claims")
    yield _verdicts(entries)
    yield Paragraph(by_training(entries))
    for paper in papers_with_claims():
        own = sorted((entry for entry in entries if entry.group == paper.name), key=lambda e: _place(e.verdict))
        decided = [entry for entry in own if entry.verdict in DECIDED]
        rest = [entry for entry in own if entry.verdict not in DECIDED]
        yield Heading(3, paper.title)
        yield _trained_here(paper.name, studies)
        trained = [entry for entry in decided if is_by_training(entry)]
        yield Items(tuple(_item(entry, f"**{entry.verdict}**") for entry in trained))
        if decided:
            yield Folded(_counts(decided), (_decided(decided),))
        title = f"{counted(len(rest), 'claim')} not decided here"
        yield Folded(title, (Items(tuple(_item(entry, entry.verdict) for entry in rest)),))


def _verdicts(entries: Sequence[ClaimEntry]) -> Table:
    """How many claims of each paper have each verdict."""
    words = sorted({entry.verdict for entry in entries}, key=_place)
    rows = [
        {"paper": paper.title} | {w: sum(e.group == paper.name and e.verdict == w for e in entries) for w in words}
        for paper in papers_with_claims()
    ]
    columns = (Column("paper", ""), *(Column(word, word, "count") for word in words))
    return Table("verdicts", "Verdicts", "", columns, pd.DataFrame(rows))


def _decided(entries: Sequence[ClaimEntry]) -> Table:
    rows = [
        {
            "verdict": f"{entry.sign} {entry.verdict}",
            "claim": f"{entry.text} ({entry.place})",
            "found": _found(entry, _named)
            + "".join(f" Corrected: {text}" for label, text in entry.facts if label == "Corrected"),
        }
        for entry in entries
    ]
    columns = (Column("verdict", ""), Column("claim", "Claim"), Column("found", "What was found"))
    return Table("decided", "Decided claims", "", columns, pd.DataFrame(rows))


def _item(entry: ClaimEntry, verdict: str) -> str:
    """A claim in a list, with the remarks on its tests."""
    return f"{entry.sign} {verdict}: {entry.text} ({entry.place}) {_found(entry, _noted)}"


def _found(entry: ClaimEntry, source: Callable[[Evidence], str]) -> str:
    """What the tests found that made the verdict, then what the others did, each with its source."""
    first = [f"{e.text}{source(e)}" for e in entry.evidence if e.verdict == entry.verdict]
    others = [f"{e.verdict}: {e.text}{source(e)}" for e in entry.evidence if e.verdict != entry.verdict]
    return "; ".join([*first, *others])


def _named(found: Evidence) -> str:
    """The study, if it is one."""
    return f" (`{found.study}`)" if found.study else ""


def _noted(found: Evidence) -> str:
    """The study with the claim's remark: `(`eps-noise`: asked later)`."""
    return f" (`{found.study}`: {found.note.rstrip('.')})" if found.note else _named(found)


def _counts(entries: Sequence[ClaimEntry]) -> str:
    """`6 confirmed, 1 refuted`."""
    words = dict.fromkeys(entry.verdict for entry in entries)
    return ", ".join(f"{sum(entry.verdict == word for entry in entries)} {word}" for word in words)


def _trained_here(paper: str, studies: Sequence[Results]) -> Paragraph | None:
    """Links to the paper's published studies below, whose figures are there."""
    own = [results for results in studies if results.study.name.partition("-")[0] == paper]
    links = ", ".join(f"[{results.study.name}](#{_anchor(results.study.title)})" for results in own)
    return Paragraph(f"Trained here: {links}.") if own else None


def _studies(studies: Sequence[Results]) -> Iterator[MarkdownBlock]:
    yield Heading(2, "The studies")
    for results in studies:
        study, summary = results.study, results.summary
        commit = str(summary.get("git_commit", ""))[:12]
        what = f"{counted(len(results.cells), 'cell')}, {counted(len(results.trials), 'trial')}"
        spent = duration(float(results.trials["seconds"].sum()))
        yield Heading(3, study.title)
        yield Paragraph(" ".join(study.description.split()))
        yield _own_claims(results)
        yield Picture(f"{metric_label(study.search.objective)} of each method", f"{FIGURES / study.name}.png")
        machine, commit = summary.get("machine", "one machine"), commit + after_comma(mark(study))
        yield Paragraph(say("study", name=study.name, what=what, spent=spent, machine=machine, commit=commit))


def _own_claims(results: Results) -> Items:
    """What the study itself asks, as a list; what papers claim is above."""
    lines = []
    for verdict in results.verdicts:
        if verdict.claim.printed is None:
            tested = evidence(verdict)
            note = f" {tested.note}" if tested.note else ""
            found = f"{SIGNS[verdict.word]} **{verdict.word}**: {text_of(verdict)} {tested.text}.{note}"
            lines.append(" ".join(found.split()))
    return Items(tuple(lines))


def _anchor(title: str) -> str:
    """A heading's anchor, as code hosts make it."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _place(word: str) -> int:
    return DECIDED.index(word) if word in DECIDED else len(DECIDED) + (word == "needs data")
