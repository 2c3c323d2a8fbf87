"""The page of all claims, of the papers first, with what the studies and the theory page say about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
Proof = tuple[TheorySection, TheoryVerdict]


def claims_page(root: Path, verdicts: Sequence[Verdict], theory: Sequence[TheorySection]) -> Page:
    """Save the CSV file of the page of claims below `root`, and return the page."""
    entries = claim_entries(verdicts, theory)
    of_studies = [_study_claim(verdict) for verdict in verdicts if verdict.claim.printed is None]
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


def is_by_training(entry: ClaimEntry) -> bool:
    """Whether a study's trials gave the entry its verdict, in place of a computation, a count or a measured time."""
    return any(tested.study and tested.verdict == entry.verdict for tested in entry.evidence)


def by_training(entries: Sequence[ClaimEntry]) -> str:
    """How many claims are confirmed or refuted, and how many of them by training."""
    decided = [entry for entry in entries if entry.verdict in ("confirmed", "refuted")]
    return say(
        "decided",
        decided=len(decided),
        claims=counted(len(entries), "claim"),
        trained=sum(map(is_by_training, decided)),
    )


def papers_with_claims() -> list[Paper]:
    """Those of the project's papers of which claims are known."""
    with_claims = {claim.paper for claim in paper_claims().values()}
    return [paper for paper in papers() if paper.name in with_claims]


def claim_entries(verdicts: Sequence[Verdict], theory: Sequence[TheorySection]) -> list[ClaimEntry]:
    """Every claim of the papers with its verdict, in the papers' order. Raises as `claims_page` does."""
    proofs, testing = _proofs(theory), registered()
    return [
        _printed(claim, verdicts, proofs.get(claim.id, ()), [t for t in testing if t.claim.id == claim.id])
        for claim in paper_claims().values()
    ]


def _proofs(theory: Sequence[TheorySection]) -> Mapping[str, Sequence[Proof]]:
    """What the sections of the theory page decide, by claim."""
    proofs: dict[str, list[Proof]] = {}
    for section in theory:
        for verdict in section.verdicts() if isinstance(section, VerdictSection) else []:
            if verdict.claim not in paper_claims():
                raise ValueError(f"theory section {section.anchor!r}: no paper has the claim {verdict.claim!r}")
            proofs.setdefault(verdict.claim, []).append((section, verdict))
    return proofs


def _printed(
    claim: PaperClaim, verdicts: Sequence[Verdict], proofs: Sequence[Proof], testing: Sequence[ClaimTest]
) -> ClaimEntry:
    tested = [verdict for verdict in verdicts if verdict.claim.id == claim.id]
    words: list[Word] = [proof.verdict for _, proof in proofs]
    word = worst(words) if words else head(claim, tested)
    items = [_proof(section, proof) for section, proof in proofs] + [_tested(verdict) for verdict in tested]
    items.sort(key=lambda e: DECIDED.index(e.verdict) if e.verdict in DECIDED else len(DECIDED))
    facts = [("Published", claim.published_effect)]
    facts += [("Corrected", proof.corrected) for _, proof in proofs]
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


def _study_claim(verdict: Verdict) -> ClaimEntry:
    sign, place = SIGNS[verdict.word], place_of(verdict)
    return ClaimEntry(
        "", f"Study {verdict.study}", sign, verdict.word, place, text_of(verdict), (), (_tested(verdict),)
    )


def _tested(verdict: Verdict) -> Evidence:
    return evidence(verdict, verdict.title, f"studies/{verdict.study}.html#claims")


def _proof(section: TheorySection, proof: TheoryVerdict) -> Evidence:
    where = f"Theory, {section.title}"
    return Evidence(SIGNS[proof.verdict], proof.verdict, where, f"theory.html#{section.anchor}", proof.finding)


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


@dataclass
class Proved:
    """A section whose verdicts are computed, for the page of claims."""

    anchor: str
    title: str
    decided: list[TheoryVerdict]

    @classmethod
    def of(cls, section: TheorySection) -> Proved:
        """What a section decides."""
        decided = section.verdicts() if isinstance(section, VerdictSection) else []
        return cls(section.anchor, section.title, decided)

    def content(self) -> Iterator[Block | None]:
        """Nothing: the page of theory has it."""
        yield from ()

    def verdicts(self) -> list[TheoryVerdict]:
        """The verdicts."""
        return self.decided


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
