"""Whether the published gains by easy positives are significant (Levi et al. 2021, appendix C)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pandas as pd
from matplotlib.figure import Figure

from dml.report import figures
from dml.report.page.blocks import Block, Column, Drawing, Paragraph, Table
from dml.report.sections import TheoryVerdict, reference_values
from papers.eps.theory import stability
from papers.verdict_statements import stated

SEEDS, LEVEL = 8, 0.05
LOSSES = ("Trip. + SH", "Dist-Margin", "MS")
SETS = (("cars196", "2"), ("cub200", "2"), ("omniglot", "3"))  # the dataset, and the table with its means
MISPRINT = 10.0  # a standard deviation above it, in points, is taken as misprinted by a factor of 100
NAMES = {"cars196": "Cars196", "cub200": "CUB-200-2011", "omniglot": "Omniglot letters"}


class Stability:
    """Nine published differences of R@1, tested with the published standard deviations."""

    anchor, title = "stability", "Whether the published gains are significant"

    def content(self) -> Iterator[Block | None]:
        """A verdict, a figure and a table."""
        tests = _tests()
        yield Paragraph(
            "The paper says that the differences in R@1 with and without easy positives are significant over 8 seeds. "
            "Here each is tested with the means of its tables 2 and 3 and the standard deviations of its table 5 "
            "(Welch's t-test)."
        )
        yield stated(self.verdicts(), ("All nine differences are significant",))
        caption = "Published gain in R@1 by easy positives, in points, with its 95% interval. Open: not significant."
        alt = "Nine published gains in recall at 1 with their 95% intervals."
        shown = tests[~tests["printed"]].drop(columns="printed")  # 29.8 points of deviation would fill the figure
        yield Drawing("stability", _figure(shown), shown, alt, caption)
        columns = (
            Column("case", "Data and loss", "name"),
            Column("std", "Std without EPS", "number", "in points, as used"),
            Column("std EPS", "Std with EPS", "number", "in points"),
            Column("gain", "Gain", "difference_interval", "published R@1 with minus without EPS, in points"),
            Column("p", "p", "p", "two-sided, Welch's t-test, not corrected for nine tests"),
        )
        note = "Gain in points with its 95% interval, 8 seeds each. A standard deviation of 29.8 is also read as 0.298."
        yield Table("stability", "Significance of published gains", note, columns, tests)

    def verdicts(self) -> list[TheoryVerdict]:
        """Refuted if one of the nine is not significant, also after the misprint is corrected."""
        return [_verdict()]


@cache
def _tests() -> pd.DataFrame:
    """One row per case, and one more for a standard deviation that is read as a misprint."""
    table = reference_values.table().query("paper == 'eps'")
    table = table[table["labels"].isin(["test classes", "letters, test classes"])]
    values = {(r.table, r.dataset, r.method, r.metric): r.value for r in table.itertuples()}
    rows = []
    for dataset, means in SETS:
        for loss in LOSSES:
            pairs = [
                (values[means, dataset, method, "R@1"], values["5", dataset, method, "R@1 std over 8 seeds"])
                for method in (loss, f"EPS + {loss}")
            ]
            readings = [(pairs, "")]
            if pairs[0][1] > MISPRINT:
                readings = [(pairs, ", as printed"), ([(pairs[0][0], pairs[0][1] / 100), pairs[1]], ", std / 100")]
            for (without, with_eps), reading in readings:
                gain = stability.welch(without, with_eps, SEEDS)
                row = {"case": f"{NAMES[dataset]}, {loss}{reading}", "std": without[1], "std EPS": with_eps[1]}
                row |= {"gain": gain.effect, "gain low": gain.low, "gain high": gain.high, "p": gain.p}
                rows.append(row | {"printed": reading == ", as printed"})
    return pd.DataFrame(rows)


@cache
def _verdict() -> TheoryVerdict:
    tests = _tests()
    weak = tests[tests["p"] >= LEVEL]
    still = weak[~weak["printed"]]
    named = "; ".join(f"{r.case}: {r.gain:+.1f} points, p = {r.p:.2f}" for r in weak.itertuples())
    rest = tests[tests["p"] < LEVEL]
    finding = (
        f"Not significant at 5%: {named or 'none'}. The other {len(rest)} have p of at most {rest['p'].max():.1g}; "
        "they include CUB with the margin loss only if its printed standard deviation of 29.8 is read as 0.298."
    )
    cases = len(tests) - int(tests["printed"].sum())
    corrected = (
        f"{cases - len(still)} of {cases} differences are significant; the gain of {', '.join(still['case'])} is not."
    )
    refuted = len(still) > 0
    return TheoryVerdict("eps-stability", "refuted" if refuted else "confirmed", finding, corrected if refuted else "")


def _figure(tests: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8.2, 3.0), layout="constrained")
    axes = figure.subplots()
    for place, row in enumerate(tests.to_dict("records")):
        shade = figures.BLUE if row["p"] < LEVEL else figures.VERMILION
        face = shade if row["p"] < LEVEL else figures.PAPER
        axes.plot([row["gain low"], row["gain high"]], [place] * 2, color=shade, linewidth=2.4, solid_capstyle="butt")
        axes.plot(row["gain"], place, "o", color=shade, markerfacecolor=face, markersize=6)
    axes.axvline(0, color=figures.MUTED, linewidth=1)
    axes.set_yticks(range(len(tests)), list(tests["case"]))
    axes.set_ylim(len(tests) - 0.4, -0.6)
    axes.set_xlabel("gain in R@1 (points)")
    axes.grid(visible=False, axis="y")
    return figure
