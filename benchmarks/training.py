"""Tabulates tuned training beside the best closed form, for `docs/benchmarks/training.md`.

    dml run partial-cars partial-cars-noisy partial-flowers partial-flowers-lite0 partial-cifar100
    python benchmarks/training.py partial-cars ... [--out docs/benchmarks/training.md]

For each study, dataset and noise: the best score without training of the same length, the best at any length, and each
trained method, with the mean and the standard deviation over the seeds, and the gain over the former with its 95%
t-interval over seeds. Rates and when to stop were tuned on validation classes (`docs/recipes.md`); test classes judge.
Closed forms are of one view of the pixels that networks trained on: more pixels and the mirror image add to them, and
on Cars by more than training does (`docs/findings.md`).
Numbers are read from `results/<study>`, or from the published snapshot in `docs/results/<study>`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from dml import losses
from dml.config import load_study
from dml.config.caveats import explained
from dml.statistics import summary as summarised
from dml.types import Cell, value_text

KEYS = ("test/fine/recall@1", "test/fine/map@r")
HEADER = "| noise | method | R@1 | MAP@R | steps | R@1 above the best closed form of its length |"


def opened(study: str) -> tuple[pd.DataFrame, dict[str, object]]:
    """The trials and the summary of a study."""
    for folder in (Path("results") / study, Path("docs/results") / study):
        if (path := folder / "trials.parquet").is_file():
            return pd.read_parquet(path), json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    raise FileNotFoundError(f"no results of {study}: run `dml run {study}` first")


def table(study: str) -> str:
    """The section of one study."""
    trials, summary = opened(study)
    found = load_study(Path("pipelines/studies") / f"{study}.yaml")
    confirmed = trials[trials["phase"] == "confirm"]
    lines = [f"## {study}", "", found.title, "", HEADER, "|---|---|---|---|---|---|"]
    for noise, rate in dict.fromkeys((cell.noise, cell.rate) for cell in found.cells()):
        records = [r for r in summary["untrained_by_noise"] if (r["noise"], r["rate"]) == (noise, rate)]  # type: ignore[index,union-attr]
        size = f", {found.training.embedding_size} "
        short = max((r for r in records if size in r["name"]), key=lambda r: r["scores"][KEYS[0]])
        long = max(records, key=lambda r: r["scores"][KEYS[0]])
        where = f"{100 * rate:.0f}%"
        for what, record in (("of the same length", short), ("of any length", long)):
            name = record["name"].partition(", ")[2] or "features"
            scores = " | ".join(f"{100 * record['scores'][key]:.1f}" for key in KEYS)
            lines.append(f"| {where} | best closed form {what}: {name} | {scores} | 0 | |")
        for cell in found.cells():
            if (cell.noise, cell.rate) != (noise, rate) or losses.closed_form_of(cell.loss.name) is not None:
                continue
            own = confirmed[confirmed["cell"] == cell.name]
            if own.empty:
                continue
            values = [100 * own[key].to_numpy(dtype=float) for key in KEYS]
            shown = " | ".join(f"{v.mean():.1f} ({v.std(ddof=1):.1f})" for v in values)
            gain = summarised(values[0] - 100 * short["scores"][KEYS[0]])
            ended = sorted({json.loads(curve)[-1][0] for curve in own["curve"]})
            text = f"{gain.mean:+.1f} [{gain.low:.1f}, {gain.high:.1f}]"
            lines.append(f"| {where} | {_label(cell)} | {shown} | {', '.join(map(str, ended))} | {text} |")
    seeds = confirmed["seed"].nunique()
    lines += ["", *explained(found)]
    lines += ["", f"{seeds} seeds, {found.search.trials} tuning trials a method; commit {summary['git_commit']}."]
    return "\n".join(lines)


def _label(cell: Cell) -> str:
    """The loss, its tuples, its filter and what else varies."""
    further = [
        f"{key.rpartition('.')[2]} {value_text(value)}" for key, value in cell.further.items() if value is not None
    ]
    tuples = f"{cell.positives} + {cell.negatives}" if cell.positives else ""
    return ", ".join(filter(None, (cell.loss.text, tuples, *further)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    text = "\n\n".join(map(table, given.studies))
    print(text)
    if given.out is not None:
        given.out.write_text(f"# Training that is tuned\n\n{(__doc__ or '').strip()}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
