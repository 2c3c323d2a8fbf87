"""The verdicts of all studies on their claims. They are made together: Holm's correction is over a paper's claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dml import statistics
from dml.config import ClaimSection
from dml.config.caveats import caveats
from dml.config.pairing import pairs
from dml.config.paper_claims import PaperClaim
from dml.report.analysis.effects import decisive, unmet
from dml.report.analysis.flags import flags
from dml.report.analysis.shares import reference
from dml.report.labels import metric_label
from dml.report.results import Results
from dml.report.tuning import mark
from dml.report.verdicts import DECIDED, Verdict, Word, combined, decided, worst

NO_SEED = "no seed finished in all cells that the claim compares"
ONE_SEED = "one seed: no interval"


def with_verdicts(studies: Sequence[Results]) -> list[Results]:
    """The results of all studies, each with the verdicts on its claims."""
    verdicts = corrected([_measured(results, claim) for results in studies for claim in results.study.claims])
    return [replace(r, verdicts=[v for v in verdicts if v.study == r.study.name]) for r in studies]


def corrected(measured: Sequence[Verdict]) -> list[Verdict]:
    """Decide the claims whose effects are known, with Holm's correction over those of the same paper."""
    p = {i: combined(v.effects) for i, v in enumerate(measured) if v.effects and not v.flags}
    found = list(measured)
    for family in _families(measured, [i for i in p if not math.isnan(p[i][0])]):
        words = _decided([p[i] for i in family])
        with_another = _decided([*(p[i] for i in family), (1.0, 1.0)])
        for i, (word, value), (then, _) in zip(family, words, with_another, strict=False):
            found[i] = _disputed(replace(found[i], word=word, p=value, fragile=then != word))
    return found


def _families(measured: Sequence[Verdict], tested: Sequence[int]) -> list[list[int]]:
    """The verdicts that share a correction: those of a paper. Its stand-ins decide nothing, so they are apart."""
    found: dict[tuple[str, bool], list[int]] = {}
    for i in tested:
        found.setdefault((paper_of(measured[i].claim), measured[i].stand_in), []).append(i)
    return list(found.values())


def _decided(family: Sequence[tuple[float, float]]) -> list[tuple[Word, float]]:
    confirming, refuting = (statistics.holm([both[question] for both in family]) for question in (0, 1))
    return [decided(float(one), float(other)) for one, other in zip(confirming, refuting, strict=True)]


def _disputed(verdict: Verdict) -> Verdict:
    """A verdict that another look does not agree with decides nothing."""
    if verdict.word not in ("confirmed", "refuted") or not verdict.claim.disputed:
        return verdict
    reason = f"{verdict.word} here, but not elsewhere: {verdict.claim.disputed}"
    return replace(verdict, word="undecided", reason=reason, fragile=False)


def paper_of(claim: ClaimSection) -> str:
    """The paper of a claim: `eps`, or what the user calls it."""
    return claim.printed.paper if claim.printed else claim.paper


def head(claim: PaperClaim, found: Sequence[Verdict]) -> Word:
    """A paper's claim in one word: the worst news of the studies with the data that the claim is about.

    A claim about several datasets is refuted by one of them, and confirmed only by all, or by as many as it asks for.
    Of a claim with several tests, one with flags keeps the others from confirming it.
    """
    own = [verdict for verdict in found if not verdict.stand_in]
    word = worst([verdict.word for verdict in own])
    covered = {source for verdict in own if verdict.word in DECIDED for source in verdict.sources}
    if word == "confirmed" and (len(covered) < claim.least_sources or any(verdict.flags for verdict in own)):
        return "undecided"
    return "needs data" if word in ("confirmed", "not tested") and set(claim.needs) - covered else word


def _measured(results: Results, claim: ClaimSection) -> Verdict:
    """The effects of a claim, before they are judged; without effects, why it was not tested."""
    study = results.study
    compared = pairs(claim, list(results.cells.values()))
    datasets = {cell.dataset for pair in compared for cell in (*pair.first, *pair.second)}
    shown = [dataset for dataset in study.datasets if dataset.label in datasets]
    sources = tuple(dict.fromkeys(dataset.name for dataset in shown))
    needs = claim.printed.needs if claim.printed else ()
    stand_in = bool(claim.stand_in) or (bool(needs) and not set(needs) & set(sources))
    data = ", ".join(dataset.label for dataset in shown)
    verdict = Verdict(claim, study.name, study.title, "not tested", sources=sources, data=data, stand_in=stand_in)
    verdict = replace(verdict, objective=metric_label(study.search.objective), tuning=mark(study), block=study.block)
    if results.trials.empty:
        return replace(verdict, reason="not run")
    lacking = unmet(results, claim)
    if lacking:
        return replace(verdict, reason=f"condition not met: {lacking}")
    found, by_ami = decisive(results, claim) if lacking is not None else ((), "")
    if not found:
        return replace(verdict, reason=NO_SEED)
    cells = {cell.name: cell for pair in compared for cell in (*pair.first, *pair.second)}
    if claim.share or claim.break_point:
        references = filter(None, [reference(results, name) for name in cells])
        cells |= {name: results.cells[name] for name in references}
    said = flags(results, cells.values(), fixed=bool(claim.fixed), same_length=True)
    told = dict.fromkeys(caveat for cell in cells.values() for caveat in caveats(study, cell))
    verdict = replace(verdict, flags=said.found, unknown=said.unknown, reason=by_ami, caveats=tuple(told))
    if claim.fixed:
        verdict = replace(verdict, tuning="")
    if said.found:
        return replace(verdict, effects=found, reason=f"not tested: {'; '.join(said.found)}")
    if any(effect.seeds < 2 for effect in found):
        return replace(verdict, word="undecided", effects=found, reason=ONE_SEED)
    return replace(verdict, effects=found)
