"""What the report says of comparisons whose truth is known, for `docs/benchmarks/comparisons.md`. Nothing is trained.

    nice python benchmarks/comparisons.py --out docs/benchmarks/comparisons.md

Two methods, A and B, each with one setting u from 0 to 1. The true score is `peak - 20 (u - best)^2` points.
Validation and test scores add Gaussian noise of 1 point, independent for each trial. A tuned study draws 8 settings for
each method and confirms the one with the best validation score; a fixed study takes the defaults. With class splits,
each split draws its own 8 settings, and comparisons are over splits. The claim is "A beats B".

- `better`: A's peak is 2 points higher. Both defaults are the best settings.
- `equal`: both are the same.
- `better untuned`: peaks are equal, but only A's default is its best setting; B's is 5 points below its peak.

Tables of trials go through the report's own analysis: verdicts (`dml.report.claims`), flags, the comparison
with the winner (`paired`), and the part of the searches (`intervals`).
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT)]

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from dml.config import Study  # noqa: E402
from dml.report.analysis.paired import compared  # noqa: E402
from dml.report.claims import with_verdicts  # noqa: E402
from dml.report.results import Results  # noqa: E402
from dml.sweep.progress.results import git_commit  # noqa: E402

NOISE, CURVE, TRIALS, DRAWS = 1.0, 20.0, 8, 2000
A, B = "triplet", "contrastive"  # the names stand for any two
ARMS = [(False, 5, 0), (True, 5, 0), (True, 11, 0), (True, 2, 5)]  # tuned, seeds, class splits


@dataclass(frozen=True)
class Method:
    """The truth about one method."""

    peak: float = 50.0
    best: float = 0.5
    default: float = 0.5

    def score(self, setting: float) -> float:
        return self.peak - CURVE * (setting - self.best) ** 2


SCENARIOS = {
    "better": (Method(peak=52.0), Method()),
    "equal": (Method(), Method()),
    "better untuned": (Method(), Method(default=1.0)),
}


def study_of(tuned: bool, seeds: int, folds: int = 0) -> Study:
    """A study of the two methods; with `folds`, each class split searches and confirms by itself."""
    return Study(
        title="Two methods",
        name="two",
        datasets=["digits"],
        losses=[A, B],
        seeds=list(range(seeds)),
        class_splits={"folds": folds} if folds else 1,
        search={"sampler": "tpe", "trials": TRIALS} if tuned else {"sampler": "fixed"},
        evaluation={"metrics": ["recall@1"]},
        compare=[{"text": "A beats B.", "first": {"loss": A}, "second": {"loss": B}}],
    )


def drawn(study: Study, methods: tuple[Method, Method], draw: np.random.Generator) -> tuple[Results, float]:
    """One study's results, and the true difference of the settings that were confirmed, on average over splits."""
    rows, true = [], []
    for cell, method in zip(study.cells(), methods, strict=True):
        columns = {"cell": cell.name, "status": "finished", **cell.columns}
        chosen = []
        for split in range(study.splits):
            setting = method.default
            if study.search.sampler != "fixed":
                settings = draw.random(TRIALS)
                values = [(method.score(u) + draw.normal(0, NOISE)) / 100 for u in settings]
                setting = float(settings[int(np.argmax(values))])
                for number, (u, value) in enumerate(zip(settings, values, strict=True)):
                    row = {"phase": "tune", "split": split, "number": number, "seed": 0}
                    row |= {"settings": json.dumps({"loss.margin": u}), "objective": value}
                    rows.append({**columns, **row, "validation/fine/recall@1": value})
            chosen.append(method.score(setting))
            for number, seed in enumerate(study.seeds):
                value = (chosen[-1] + draw.normal(0, NOISE)) / 100
                row = {"phase": "confirm", "split": split, "number": number, "seed": seed, "settings": "{}"}
                rows.append({**columns, **row, "objective": value, "test/fine/recall@1": value})
        true.append(float(np.mean(chosen)))
    common = {"study": "two", "error": "", "seconds": 1.0, "curve": "[]", "diagnostics": "{}"}
    frame = pd.DataFrame(rows).assign(key=[f"{i:064d}" for i in range(len(rows))], started="", host="", **common)
    return Results(study, frame, {}), true[0] - true[1]


def arm(name: str, tuned: bool, seeds: int, folds: int, draws: int) -> str:
    """A row of the table: verdicts, and how often intervals contain the truth."""
    study, methods = study_of(tuned, seeds, folds), SCENARIOS[name]
    truth = methods[0].peak - methods[1].peak
    draw, words, covered, of_methods = np.random.default_rng(0), Counter(), 0, 0
    for _ in range(draws):
        results, difference = drawn(study, methods, draw)
        verdict = with_verdicts([results])[0].verdicts[0]
        words[verdict.word] += 1
        won = compared(results, "test/fine/recall@1", list(results.cells))[0]
        sign = 1 if won["winner"] == study.cells()[0].name else -1
        low, high = sorted((sign * won["low"], sign * won["high"]))
        covered += low <= difference <= high
        of_methods += low <= truth <= high
    verdicts = " | ".join(f"{words[word] / draws:.1%}" for word in ("confirmed", "refuted", "undecided", "not tested"))
    way = f"tuned, {folds} class splits" if folds else "tuned" if tuned else "fixed"
    of_chosen = "" if folds else f"{covered / draws:.1%}"
    return f"| {name} | {way} | {seeds} | {verdicts} | {of_chosen} | {of_methods / draws:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = ["# Comparisons of known truth", "", (__doc__ or "").strip(), ""]
    lines += [f"{given.draws:,} draws a row, {datetime.date.today()}, commit {git_commit()}.", "", "## Verdicts", ""]
    columns = ("truth", "study", "seeds", "confirmed", "refuted", "undecided", "not tested")
    columns += ("covers chosen", "covers methods")
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in SCENARIOS:
        for tuned, seeds, folds in ARMS:
            lines.append(arm(name, tuned, seeds, folds, given.draws))
            print(lines[-1], flush=True)
    lines += [
        "",
        "`covers chosen`: the 95% interval of the difference contains the true difference of the settings that were",
        "confirmed. `covers methods`: it contains that of the two methods at their best settings.",
        "",
        "One search finds each method a setting that is a little off its best. Seeds repeat that setting, not the",
        "search. Intervals over seeds alone, as they were, told equal methods apart in 12% (5 seeds) and 22% (11",
        "seeds) of studies, and covered the methods in 88% and 78%. The part of the searches is now estimated from the",
        "tuning trials (`searched`). Class splits repeat the search, and find more with as many trials.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
