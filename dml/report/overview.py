"""The site's page of results: what the published studies found, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from dml.config import Study
from dml.counting import counted
from dml.report.claims import with_verdicts
from dml.report.claims_page import by_training, claim_entries, papers_with_claims, proofs_of, theory_sections
from dml.report.labels import Texts, metric_label
from dml.report.loading import load
from dml.report.methods import IN_SHORT, after_comma, mark
from dml.report.numbers import duration
from dml.report.page.blocks import ClaimEntry, Paragraph
from dml.report.page.markdown import Heading, Items, MarkdownBlock, Picture, markdown
from dml.report.regimes import END, FILE, START, TITLE, regimes
from dml.report.results import Results
from dml.report.verdicts import SIGNS, WORDS
from dml.report.wording import evidence, text_of
from dml.snapshots import Snapshot

say = Texts(__file__)

CLAIMS = "[the papers' claims](#the-papers-claims), "
FIGURES = Path("figures/results")  # below docs: the key figure of each study


def overview(studies: Sequence[Study], snapshots: Path, files: Path) -> str:
    """The page as Markdown, of studies that are published."""
    nowhere = Path("nowhere")
    loaded = with_verdicts([load(s, nowhere / s.name, None, Snapshot(snapshots / s.name)) for s in studies])
    verdicts = [verdict for results in loaded for verdict in results.verdicts]
    entries = claim_entries(verdicts, proofs_of(theory_sections()))
    trials = pd.concat([results.trials for results in loaded]).drop_duplicates("key")  # studies share some
    number, of_trials = counted(len(loaded), "study"), counted(len(trials), "trial")
    spent = duration(float(trials["seconds"].sum()))
    table = regimes(loaded, files.parent / FILE)
    blocks = (
        Heading(1, "Results"),
        Paragraph(say("head")),
        Paragraph(say("contents", claims=CLAIMS if entries else "")),
        Paragraph(IN_SHORT),
        *((Heading(2, TITLE), Paragraph(START), table, Paragraph(END)) if table is not None else ()),
        Paragraph(say("total", studies=number, trials=of_trials, spent=spent)),
        *_papers(entries),
        *_studies(loaded),
    )
    return markdown(blocks) + "\n"


def _papers(entries: Sequence[ClaimEntry]) -> Iterator[MarkdownBlock]:
    """The claims of each paper, decided ones first, with what was found and the remarks on their tests."""
    if entries:
        yield Heading(2, "The papers' claims")
        yield Paragraph(by_training(entries))
    for paper in papers_with_claims() if entries else ():
        claims = [entry for entry in entries if entry.group == paper.name]
        yield Heading(3, paper.title)
        yield Items(tuple(_item(entry) for entry in sorted(claims, key=lambda entry: WORDS.index(entry.verdict))))


def _item(entry: ClaimEntry) -> str:
    """A claim; what the tests found that made its verdict comes first, each with its study."""
    tests = sorted(entry.evidence, key=lambda evidence: evidence.verdict != entry.verdict)
    notes = [f": {e.note.rstrip('.')}" if e.note else "" for e in tests]
    sources = [f" (`{e.study}`{note})" if e.study else "" for e, note in zip(tests, notes, strict=True)]
    words = [f"{e.verdict}: " if e.verdict != entry.verdict else "" for e in tests]
    texts = [f"{word}{e.text}{source}" for word, e, source in zip(words, tests, sources, strict=True)]
    corrected = "".join(f" Corrected: {text}" for label, text in entry.facts if label == "Corrected")
    return f"{entry.sign} **{entry.verdict}**: {entry.text} ({entry.place}) {'; '.join(texts)}{corrected}"


def _studies(studies: Sequence[Results]) -> Iterator[MarkdownBlock]:
    yield Heading(2, "The studies")
    for results in studies:
        study, summary = results.study, results.summary
        commit = str(summary.get("git_commit", ""))[:12]
        what = f"{counted(len(results.cells), 'cell')}, {counted(len(results.trials), 'trial')}"
        spent = duration(float(results.trials["seconds"].sum()))
        yield Heading(3, study.title)
        yield Paragraph(" ".join(study.description.split()))
        yield _study_claims(results)
        yield Picture(f"{metric_label(study.search.objective)} of each method", f"{FIGURES / study.name}.png")
        machine, commit = summary.get("machine", "one machine"), commit + after_comma(mark(study))
        yield Paragraph(say("study", name=study.name, what=what, spent=spent, machine=machine, commit=commit))


def _study_claims(results: Results) -> Items:
    """What the study itself asks, as a list; what papers claim is above."""
    lines = []
    for verdict in results.verdicts:
        if verdict.claim.printed is None:
            tested = evidence(verdict)
            note = f" {tested.note}" if tested.note else ""
            text = f"{SIGNS[verdict.word]} **{verdict.word}**: {text_of(verdict)} {tested.text}.{note}"
            lines.append(" ".join(text.split()))
    return Items(tuple(lines))
