"""The page of all claims, of the papers first, with what the studies and the theory page say about each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dml import discovery
from dml.counting import counted
from dml.papers import Paper, PaperClaim, paper_claims, papers
from dml.report.claims import ClaimTest, registered
from dml.report.labels import Texts
from dml.report.page.assets import Assets
from dml.report.page.blocks import Block, ClaimEntry, ClaimFilter, ClaimList, Download, Evidence, Paragraph
from dml.report.page.html import Page, PageSection
from dml.report.sections import TheorySection, TheoryVerdict, VerdictSection
from dml.report.verdicts import DECIDED, SIGNS, WORDS, Verdict, Word, head, worst
from dml.report.wording import evidence, place_of, text_of

say = Texts(__file__)

STUDIES_CLAIMS = "Claims of the studies' own"


class Proof(NamedTuple):
    """What a section of the theory page says about a claim."""

    anchor: str
    title: str
    verdict: TheoryVerdict


def claims_page(root: Path, verdicts: Sequence[Verdict], proofs: Sequence[Proof]) -> Page:
    """Save the CSV file of the page of claims below `root`, and return the page."""
    entries = claim_entries(verdicts, proofs)
    of_studies = []
    for verdict in verdicts:
        if verdict.claim.printed is None:
            group, sign, tests = f"Study {verdict.study}", SIGNS[verdict.word], (_tested(verdict),)
            entry = ClaimEntry("", group, sign, verdict.word, place_of(verdict), text_of(verdict), (), tests)
            of_studies.append(entry)
    titles = {paper.name: paper.title for paper in papers_with_claims()}
    paragraphs = [say("lead"), by_training(entries)] if titles else []
    groups = {**titles, **{entry.group: entry.group for entry in of_studies}}
    blocks: list[Block] = [
        Paragraph(say("rule")),
        ClaimFilter(tuple(groups.items()), WORDS),
        Download("claims", _frame(entries + of_studies), "All claims as CSV", say("csv")),
    ]
    assets = Assets(root, "_claims")  # no study has this name
    sections = [PageSection("filter", "Find a claim", assets.save(blocks))]
    for anchor, title in titles.items():
        items = tuple(entry for entry in entries if entry.group == anchor)
        sections.append(PageSection(anchor, title, assets.save([ClaimList(items)])))
    if of_studies:
        sections.append(PageSection("own", STUDIES_CLAIMS, assets.save([ClaimList(tuple(of_studies))])))
    shown = entries or of_studies
    counts = {word: sum(entry.verdict == word for entry in shown) for word in WORDS}
    return Page(
        "claims",
        "claims.html",
        eyebrow="Claims",
        title="What the papers claim, and what holds" if titles else "What the studies claim, and what holds",
        description=paragraphs,
        sections=sections,
        facts=[
            ("Claims", f"{len(shown)}", ""),
            *((f"{SIGNS[w]} {w.capitalize()}", str(n), "") for w, n in counts.items()),
        ],
    )


def by_training(entries: Sequence[ClaimEntry]) -> str:
    """How many claims are confirmed or refuted, and how many of them by training."""
    decided = [entry for entry in entries if entry.verdict in ("confirmed", "refuted")]
    trained = sum(any(e.study and e.verdict == entry.verdict for e in entry.evidence) for entry in decided)
    return say("decided", decided=len(decided), claims=counted(len(entries), "claim"), trained=trained)


def papers_with_claims() -> list[Paper]:
    """Those of the project's papers of which claims are known."""
    with_claims = {claim.paper for claim in paper_claims().values()}
    return [paper for paper in papers() if paper.name in with_claims]


def claim_entries(verdicts: Sequence[Verdict], proofs: Sequence[Proof]) -> list[ClaimEntry]:
    """Every claim of the papers with its verdict, in the papers' order."""
    testing = registered()
    return [
        _printed(
            claim,
            [verdict for verdict in verdicts if verdict.claim.id == claim.id],
            [proof for proof in proofs if proof.verdict.claim == claim.id],
            [test for test in testing if test.claim.id == claim.id],
        )
        for claim in paper_claims().values()
    ]


def proofs_of(sections: Sequence[TheorySection]) -> list[Proof]:
    """What the sections of the theory page decide: each verdict with the section's anchor and title."""
    deciding = [section for section in sections if isinstance(section, VerdictSection)]
    proofs = [Proof(section.anchor, section.title, proof) for section in deciding for proof in section.verdicts()]
    for proof in proofs:
        if proof.verdict.claim not in paper_claims():
            raise ValueError(f"theory section {proof.anchor!r}: no paper has the claim {proof.verdict.claim!r}")
    return proofs


def _printed(
    claim: PaperClaim, tested: Sequence[Verdict], proofs: Sequence[Proof], testing: Sequence[ClaimTest]
) -> ClaimEntry:
    words: list[Word] = [proof.verdict.verdict for proof in proofs]
    word = worst(words) if words else head(claim, tested)
    items = [*map(_proof, proofs), *map(_tested, tested)]
    items.sort(key=lambda e: DECIDED.index(e.verdict) if e.verdict in DECIDED else len(DECIDED))
    facts = [("Published", claim.published_effect)]
    facts += [("Corrected", proof.verdict.corrected) for proof in proofs]
    if word == "needs data":
        facts.append(("Needs data", ", ".join(claim.needs)))
    if not items:
        facts.append(("Why no study decides it", claim.no_study))
    if word in ("not tested", "needs data") or (word == "undecided" and claim.least_sources > 1):
        facts.append(("What would decide it", claim.comparison))
    commands = tuple(f"make repro STUDY={name}" for name in dict.fromkeys(n for t in testing for n in t.studies))
    return ClaimEntry(
        claim.id,
        claim.paper,
        SIGNS[word],
        word,
        claim.place,
        claim.claim,
        tuple((label, value) for label, value in facts if value),
        tuple(items),
        commands=commands if word in ("not tested", "needs data") else (),
    )


def _tested(verdict: Verdict) -> Evidence:
    return evidence(verdict, verdict.title, f"studies/{verdict.study}.html#claims")


def _proof(proof: Proof) -> Evidence:
    word, href = proof.verdict.verdict, f"theory.html#{proof.anchor}"
    return Evidence(SIGNS[word], word, f"Theory, {proof.title}", href, proof.verdict.finding)


def _frame(entries: Sequence[ClaimEntry]) -> pd.DataFrame:
    """One row per claim and source; a claim without sources has one row."""
    rows = []
    for entry in entries:
        facts = dict(entry.facts)
        row = {"id": entry.anchor, "group": entry.group, "place": entry.place, "claim": entry.text}
        row |= {"verdict": entry.verdict, "published": facts.get("Published", "")}
        row |= {"corrected": facts.get("Corrected", ""), "needs": facts.get("Needs data", "")}
        for e in entry.evidence or (Evidence("", "", "", "", ""),):
            rows.append(row | {"source": e.where, "source verdict": e.verdict, "finding": e.text, "test": e.smaller})
    return pd.DataFrame(rows)


def theory_sections() -> list[TheorySection]:
    """The sections that the papers have, paper by paper."""
    return [discovery.build(paper.package, name) for paper in papers() for name in paper.sections]


def theory_page(root: Path, theory: Sequence[TheorySection]) -> Page:
    """Save the figures and CSV files of the theory page below `root`, and return the page."""
    assets = Assets(root, "_theory")  # no study has this name
    sections = [PageSection(s.anchor, s.title, assets.save(s.content())) for s in theory]
    summary = " ".join(filter(None, (paper.computed for paper in papers())))
    return Page(
        "theory",
        "theory.html",
        eyebrow="Theory",
        title="What the papers prove, computed",
        description=[summary] if summary else [],
        sections=sections,
    )
