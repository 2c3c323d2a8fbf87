"""Claims: which cells of a study are compared, and the verdicts of all studies.

A claim is a function of a study's results, in `papers/<paper>/claims.py`. It yields comparisons, each of `paired`,
`slope` or `break_points`. Its docstring is a remark for the reader:

    @claim("eps-figure-2", "eps-fig2", "eps-fig2-seeds")
    def figure_2(results):
        'NMI stands for the separation that the figure shows.'
        yield paired(results, {"positives": "easy"}, {"positives": "random"}, "seen/fine/nmi")

Keywords say what is expected of the effect and what is said with it (`Comparison`). A study's own `compare` is decided
in the same way.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from dml.config import Study, compare
from dml.config.compare import Line, Match, attribute, pairs, score_key
from dml.config.errors import setting, written_setting
from dml.config.for_use import caveats
from dml.discovery import suggestion
from dml.papers import paper_claims, papers
from dml.report.analysis.flags import flags
from dml.report.analysis.intervals import class_terms, search_terms
from dml.report.analysis.paired import LEFT, break_point, kept, reference
from dml.report.labels import metric_label, readable, score_label
from dml.report.methods import mark
from dml.report.results import Results
from dml.report.verdicts import Claim, Comparison, Effect, Expected, Verdict, corrected, effect
from dml.report.wording import Number, is_logged, logged
from dml.report.wording import unit as logged_unit
from dml.statistics import Term
from dml.types import value_text

Pairs = Sequence[tuple[Line, Line]]
Test = Callable[[Results], Iterable[Comparison]]
NO_SEED = "no seed finished in all cells that the claim compares"
ONE_SEED = "one seed: no interval"


@dataclass(frozen=True)
class ClaimTest:
    """A claim, the function that tests it, and the studies whose results it takes."""

    claim: Claim
    function: Test
    studies: tuple[str, ...]
    stand_in: str = ""  # what these studies have in place of the network or data of the claim


def claim(
    id: str, *studies: str, stand_in: str = "", paper: str = "", text: str = "", place: str = ""
) -> Callable[[Test], ClaimTest]:
    """Make a function the test of a claim.

    Parameters
    ----------
    id : of a claim in `papers/<paper>/claims.csv`; "": one of the project's own, with its `text`.
    studies : whose results the function takes.
    paper : of a claim of one's own, the family of claims that share Holm's correction.
    """
    made = Claim(id, paper, text, place)
    if id and id not in (choices := paper_claims()):
        raise ValueError(f"claim: unknown id {id!r}{suggestion(id, sorted(choices))}")
    if made.printed:
        made = replace(made, paper=made.printed.paper)
    return lambda function: ClaimTest(made, function, studies, stand_in)


def registered() -> list[ClaimTest]:
    """The tests of claims in the project's papers, in the order of their files."""
    packages = [paper.package.rpartition(".")[0] for paper in papers() if (paper.folder / "claims.py").is_file()]
    modules = [importlib.import_module(f"{package}.claims") for package in packages]
    return [value for module in modules for value in vars(module).values() if isinstance(value, ClaimTest)]


def tests_of(study: Study) -> list[ClaimTest]:
    """The claims that a study tests: those of papers, then its own comparisons."""
    compared = [ClaimTest(Claim("", study.name, each.text), _test_of(each), (study.name,)) for each in study.compare]
    return [test for test in registered() if study.name in test.studies] + compared


def _test_of(one: compare.ComparisonSection) -> Test:
    expected: dict[str, Any] = {"above" if one.direction == "greater" else "below": 0.0}
    return lambda results: [paired(results, one.first, one.second, one.score, where=one.where, **expected)]


def paired(
    results: Results,
    first: Match,
    second: Match,
    score: str = "",
    *,
    where: Match | None = None,
    each: Sequence[str] = (),
    share: bool = False,
    number: Number | None = None,
    **options: Any,
) -> Comparison:
    """The difference of two sets of cells, paired by everything that neither names, first minus second.

    Parameters
    ----------
    score : `<set>/<level>/<metric>`, `<level>/<metric>` or a logged `diagnostics/...`; "": the objective.
    where : attributes of all cells.
    each : attributes for each value of which, in `first`, the claim must hold.
    share : compare shares of the topline's score, in percent.
    number : of a logged score, computes it from all that a trial logged.
    options : as `_comparison` takes them.
    """
    cell_pairs = pairs(list(results.cells.values()), first, second, where, each=each)
    words = f"{_match(first)} minus {_match(second)}"

    def measure(line: Line, key: str) -> pd.Series:
        return _frame(results, line, key, share, number)[0]

    options |= {"share": share, "searched": not share and not is_logged(score)}
    return _comparison(results, cell_pairs, measure, words, score, where, each, **options)


def slope(
    results: Results,
    along: str,
    first: Match,
    second: Match | None,
    score: str = "",
    *,
    where: Match | None = None,
    each: Sequence[str] = (),
    share: bool = False,
    scale: Literal["linear", "log"] = "linear",
    values: Mapping[str, float] | None = None,
    **options: Any,
) -> Comparison:
    """How the score of some cells, or the difference of two sets, changes with a setting or with the noise rate.

    Parameters
    ----------
    along : a setting that varies, or `rate`.
    second : None: the slope of one set.
    scale : log: points per doubling.
    values : numbers that stand for values of `along` that are none.
    """
    cell_pairs = pairs(list(results.cells.values()), first, second, where, along, each)
    if any(len(line) < 2 for pair in cell_pairs for line in pair if line):
        raise ValueError(f"some of these cells have only one value of {written_setting(along)}, all else equal")

    def measure(line: Line, key: str) -> pd.Series:
        x = np.array([_position(attribute(cell, setting(along)), values or {}) for cell in line])
        x = np.log2(x) if scale == "log" else x
        return _by_row(_frame(results, line, key, share), lambda scores: float(np.polyfit(x, scores, 1)[0]))

    of = "" if second is None else f" of {_match(first)} minus {_match(second)}"
    words, per = f"slope over {written_setting(along)}{of}", "doubling" if scale == "log" else "unit"
    unit = f" per {per} of {written_setting(along)}"
    return _comparison(results, cell_pairs, measure, words, score, where, each, share=share, per=unit, **options)


def break_points(
    results: Results, first: Match, second: Match, score: str = "", *, where: Match | None = None, **options: Any
) -> Comparison:
    """The difference of the noise rates at which two sets lose a tenth of their topline."""
    cell_pairs = pairs(list(results.cells.values()), first, second, where, "rate")

    def measure(line: Line, key: str) -> pd.Series:
        """The highest rate if a method never breaks: a difference is not exaggerated, but may be 0."""
        noisy = tuple(cell for cell in line if cell.rate > 0)
        rates = [cell.rate for cell in noisy]
        frame = _frame(results, noisy, key, share=True)
        return _by_row(frame, lambda shares: 100 * min(break_point(rates, list(shares), LEFT), max(rates)))

    words = f"noise rate at which the score falls below {LEFT:g}%{OF_TOPLINE}, {_match(first)} minus {_match(second)}"
    made = _comparison(results, cell_pairs, measure, words, score, where, (), share=True, **options)
    return replace(made, compared=made.compared.removesuffix(SHARE), unit="points of the noise rate")


def reached(results: Results, cells: Match, score: str, at_least: float) -> str | None:
    """Which of these cells misses a score, in percent, by most. Empty if none does, None if one has no result."""
    worst, text = 0.0, ""
    for cell in compare.check_matching(compare.without_toplines(results.cells.values(), cells), cells):
        key = score_key(results.study, cell.dataset, score)
        values = results.values(cell.name, key)
        if values.empty:
            return None
        mean = float(values.mean())
        if at_least - mean > worst:
            worst = at_least - mean
            of = f"{results.methods[cell.name].label} at {results.level(*cell.noise_level)}"
            text = f"{score_label(key)} of {of} is {mean:.4g}%, expected at least {at_least:g}%"
    return text


OF_TOPLINE = " of its topline"
SHARE = ", in percent of the topline"


def _comparison(
    results: Results,
    cell_pairs: Pairs,
    measure: Callable[[Line, str], pd.Series],
    words: str,
    score: str,
    where: Match | None,
    each: Sequence[str],
    *,
    share: bool,
    searched: bool = False,
    per: str = "",
    above: float = 0.0,
    below: float | None = None,
    within: float | None = None,
    condition: str | None = "",
    **options: Any,
) -> Comparison:
    side = "within" if within is not None else "above" if below is None else "below"
    bound = within if within is not None else above if below is None else below
    expected, parts = Expected(side, float(bound)), _parts(cell_pairs, each)  # type: ignore[arg-type]
    cells = {cell.name: cell for pair in cell_pairs for line in pair for cell in line}
    references = [reference(results, name) for name in cells] if share else []
    where_words = f", where {_match(where)}" if where else ""
    of = f", of {score}" if score else f", of {metric_label(results.study.search.objective)}, the objective"
    made = Comparison(
        words + where_words + of + SHARE * share,
        (logged_unit(score) if is_logged(score) else "points") + per,
        expected,
        score,
        tuple(dict.fromkeys([*cells, *filter(None, references)])),
        **options,
    )

    def key_of(line: Line, name: str) -> str:
        return name if is_logged(name) else score_key(results.study, line[0].dataset, name)

    def value(pair: tuple[Line, Line], name: str) -> pd.Series:
        first, *second = (measure(line, key_of(line, name)) for line in pair if line)
        return first - second[0] if second else first

    def effects(name: str) -> tuple[Effect, ...]:
        columns = [[value(pair, name) for pair in part] for _, part in parts]
        values = [pd.concat(c, axis=1, join="inner").dropna().mean(axis=1).sort_index() for c in columns]
        if any(one.empty for one in values):
            return ()
        terms = [_further(results, part, key_of(part[0][0], name)) if searched else ([], []) for _, part in parts]
        return tuple(
            effect(one.to_list(), expected, attributes, *further, results.overlap)
            for one, (attributes, _), further in zip(values, parts, terms, strict=True)
        )

    if condition:
        return replace(made, reason=f"condition not met: {condition}")
    key = key_of(cell_pairs[0][0], score)
    measured = effects(score) if condition is not None else ()
    ami = key.removesuffix("nmi") + "ami"
    adjusted = effects(ami) if key.endswith("/nmi") and ami in results.score_keys else ()
    if any(a.mean * b.mean < 0 for a, b in zip(measured, adjusted, strict=False)):
        # NMI has a floor that rises with the number of clusters; AMI is adjusted for chance.
        return replace(made, effects=adjusted, reason="decided by AMI, which contradicts NMI")
    return replace(made, effects=measured)


def _parts(cell_pairs: Pairs, each: Sequence[str]) -> list[tuple[Mapping[str, Any], Pairs]]:
    """The pairs for each value of some attributes of their first cells."""
    parts: dict[str, tuple[Mapping[str, Any], list[tuple[Line, Line]]]] = {}
    for first, second in cell_pairs:
        values = {key: attribute(first[0], setting(key)) for key in each}
        parts.setdefault(compare.identity(values), (values, []))[1].append((first, second))
    return list(parts.values())


def _further(results: Results, cell_pairs: Pairs, key: str) -> tuple[list[Term], list[Term]]:
    """What searches, and test classes, add to the variance of a mean difference."""
    weights: Counter[str] = Counter()
    for (first,), (second,) in cell_pairs:
        weights.update({first.name: 1 / len(cell_pairs)})
        weights.subtract({second.name: 1 / len(cell_pairs)})
    return search_terms(results, weights, key), class_terms(results, key, weights)


def _frame(results: Results, line: Line, key: str, share: bool, number: Number | None = None) -> pd.DataFrame:
    """The values of a line's cells as columns, on the blocks that all of them finished."""
    values = kept if share else partial(logged, number=number) if is_logged(key) else Results.values
    return pd.DataFrame({i: values(results, cell.name, key) for i, cell in enumerate(line)}).dropna()


def _by_row(frame: pd.DataFrame, of: Callable[[np.ndarray], float]) -> pd.Series:
    return pd.Series({block: of(row.to_numpy(float)) for block, row in frame.iterrows()}, dtype=float)


def _position(value: Any, values: Mapping[str, float]) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = "none" if value is None else value if isinstance(value, str) else value_text(value)
    if text not in values:
        raise ValueError(f"expected a number for {value!r} in `values`, which has {', '.join(values) or 'none'}")
    return float(values[text])


def with_verdicts(studies: Sequence[Results]) -> list[Results]:
    """The results of all studies, each with the verdicts on its claims."""
    verdicts = corrected([verdict for results in studies for verdict in _measured(results)])
    return [replace(r, verdicts=[v for v in verdicts if v.study == r.study.name]) for r in studies]


def _measured(results: Results) -> Iterator[Verdict]:
    """The effects of a study's claims, before they are judged; without effects, why one was not tested."""
    for test in tests_of(results.study):
        try:
            for comparison in test.function(results):
                note = comparison.note or " ".join((test.function.__doc__ or "").split())
                yield _verdict(results, test, replace(comparison, note=note))
        except ValueError as error:  # the study, as it ran, lacks cells or scores of the claim
            yield _verdict(results, test, Comparison(reason=str(error)))


def _verdict(results: Results, test: ClaimTest, comparison: Comparison) -> Verdict:
    study, cells = results.study, [results.cells[name] for name in comparison.cells]
    datasets = {cell.dataset for cell in cells}
    shown = [dataset for dataset in study.datasets if dataset.label in datasets]
    sources = tuple(dict.fromkeys(dataset.name for dataset in shown))
    needs = test.claim.printed.needs if test.claim.printed else ()
    verdict = Verdict(
        test.claim,
        comparison,
        study.name,
        study.title,
        objective=metric_label(study.search.objective),
        sources=sources,
        data=", ".join(dataset.label for dataset in shown),
        stand_in=bool(test.stand_in) or (bool(needs) and not set(needs) & set(sources)),
        block=study.block,
        tuning="" if comparison.fixed and comparison.effects else mark(study),
        reason=comparison.reason,
    )
    if results.trials.empty and cells:
        return replace(verdict, reason="not run")
    if not comparison.effects:
        return replace(verdict, reason=comparison.reason or NO_SEED)
    doubt = flags(results, cells, fixed=bool(comparison.fixed), same_length=True)
    remarks = dict.fromkeys(caveat for cell in cells for caveat in caveats(study, cell))
    verdict = replace(verdict, flags=doubt.reasons, unknown=doubt.unknown, caveats=tuple(remarks))
    if doubt.reasons:
        return replace(verdict, reason=f"not tested: {'; '.join(doubt.reasons)}")
    if any(effect.seeds < 2 for effect in comparison.effects):
        return replace(verdict, word="undecided", reason=ONE_SEED)
    return verdict


def _match(match: Match) -> str:
    """`positives easy, loss triplet or margin`."""
    return ", ".join(f"{written_setting(key)} {_value(value)}" for key, value in match.items()) or "all cells"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(_value, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else readable(str(value))
