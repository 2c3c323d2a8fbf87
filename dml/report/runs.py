"""A study's results as runs: study > cell > trial, with the numbers of the report's tables."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from dml.config.for_use import for_use, mark
from dml.counting import counted
from dml.files import read_json
from dml.report.analysis.intervals import PARTS, SHARE, summary_at, summary_of
from dml.report.analysis.paired import kept
from dml.report.analysis.selection import best_of, validation, validations
from dml.report.labels import noise_label, readable
from dml.report.methods import further
from dml.report.numbers import rate
from dml.report.page.markdown import plain
from dml.report.results import Results, parsed
from dml.tracking import FAILED, FINISHED, KILLED, RUNNING, Model, Picture, Run, parameters

STATUS = {"finished": FINISHED, "failed": FAILED, "interrupted": KILLED, "running": RUNNING}
COUNTED = ("cells", "trials", "finished", "failed", "seconds", "training_seconds")  # of summary.json
COMMIT = ("dml.git_commit", "mlflow.source.git.commit")  # tags
DIGITS = 4  # of a cell's scores, as shares of 1; more would fill the screen, and the trials have them all
ERROR_LENGTH = 4000  # characters


def picture(results: Results, state: str = "finished") -> Picture:
    """A study's runs: that of the study first, each cell's before those of its trials."""
    trials = results.trials[results.trials["cell"].isin(results.cells)]
    rows = {str(name): scores for name, scores in trials.groupby("cell", sort=False)}
    metrics = {name: _metrics(results, name, rows[name]) for name in results.cells if name in rows}
    study, names = _study(results, state, metrics), run_names(results)
    runs = [study]
    for name, scores in metrics.items():
        status, times = _status(results, name, rows[name], state), _times(rows[name]["started"], rows[name]["seconds"])
        params = {**_place(results, name), **_chosen(results, name)}
        cell = Run("cell", names[name], study, status, *times, {"dml.cell": name}, params, scores)
        runs += [cell, *(_trial(results, cell, row, state) for row in rows[name].to_dict("records"))]
    return Picture(results.study.name, runs)


def run_names(results: Results) -> dict[str, str]:
    """The name of each cell's run: only what differs in the study, such as `triplet, easy + hard, 20%`."""
    parts = pd.DataFrame([_parts(results, name) for name in results.cells], index=list(results.cells))
    varied = parts.loc[:, parts.nunique() > 1]
    names = {name: ", ".join(filter(None, row)) for name, row in zip(varied.index, varied.to_numpy(), strict=True)}
    return {name: text or results.methods[name].label for name, text in names.items()}


def _parts(results: Results, name: str) -> list[str]:
    """A cell's method and data in parts."""
    cell, m = results.cells[name], results.methods[name]
    tuples = readable(" + ".join(filter(None, (m.positives, m.negatives))))
    share = results.level(*cell.noise_level) if results.user_labels else rate(cell.rate)
    return [readable(m.loss), tuples, m.filter, m.settings, noise_label(cell.noise), share, cell.dataset]


def _place(results: Results, name: str) -> dict[str, Any]:
    """A cell's place in its study: method, data, then what else varies."""
    cell = results.cells[name]
    tuples = {"positives": cell.positives, "negatives": cell.negatives, "miner": cell.miner and cell.miner.name}
    data = {"noise": cell.noise, "rate": cell.rate, "dataset": cell.dataset}
    settings = {"loss": results.methods[name].loss, **tuples, **data, **further(cell)}
    return {key: value for key, value in settings.items() if value is not None}


def _chosen(results: Results, name: str) -> dict[str, Any]:
    """The settings of a cell's confirmed trials."""
    return next((parsed(text) or {} for text in results.confirmed_of(name)["settings"]), {})


def _metrics(results: Results, name: str, rows: pd.DataFrame) -> dict[str, float]:
    """A cell's scores over seeds as shares of 1, and what its search and its trials say."""
    objective = results.objective(results.cells[name].dataset)
    keys = {"objective": objective, **{key: key for key in results.score_keys}}
    values = {
        "seeds": float(len(results.confirmed_of(name))),
        "failed": float((rows["status"] == "failed").sum()),
        "training_seconds": float(rows["seconds"].sum()),
        "validation": validation(results, name) / 100,
    }
    if results.cells[name].rate:
        shares = summary_of(kept(results, name, objective), "s", SHARE, overlap=results.overlap)
        values["share_kept"] = shares["s mean"] / 100
    for short, key in keys.items():
        summary = summary_at(results, name, key, "s")
        values |= {f"{short}.{part}": summary[f"s {part}"] / 100 for part in PARTS}
    return {key: round(value, DIGITS) for key, value in _finite(values).items()}


def _status(results: Results, name: str, rows: pd.DataFrame, state: str) -> str:
    confirmed = rows[(rows["phase"] == "confirm") & rows["status"].isin(["finished", "failed"])]
    if state == "finished" or len(confirmed) >= len(results.study.seeds) * results.study.splits:
        return FINISHED if len(results.confirmed_of(name)) else FAILED
    return RUNNING if state == "running" else KILLED


def _trial(results: Results, cell: Run, row: dict[str, Any], state: str) -> Run:
    name, phase = row["cell"], row["phase"]
    number, seed, split = (int(row[key]) for key in ("number", "seed", "split"))
    identity = f"{name}|split-{split}|{phase}|{number}" if split else f"{name}|{phase}|{number}"
    tags = {"dml.trial": identity, "dml.key": row["key"], "dml.cell": name, "dml.phase": phase}
    tags |= {"dml.error": str(row["error"])[-ERROR_LENGTH:]} if row["error"] else {}
    params = {"phase": phase, "number": number, "seed": seed, **({"split": split} if split else {})}
    stopped = row["status"] == "running" and state != "running"
    return Run(
        "trial",
        f"{cell.name}: trial {number}" if phase == "tune" else f"{cell.name}: seed {seed}",
        cell,
        KILLED if stopped else STATUS[row["status"]],
        *_times([row["started"]], [row["seconds"]]),
        tags,
        {**params, **_place(results, name), **(parsed(row["settings"]) or {})},
        _finite({**(parsed(row["diagnostics"]) or {}), "objective": row["objective"]}),
        [(int(step), _finite(scores)) for step, scores in parsed(row["curve"]) or ()],
    )


def _study(results: Results, state: str, metrics: Mapping[str, Mapping[str, float]]) -> Run:
    study, trials, summary = results.study, results.trials, results.summary if state == "finished" else {}
    counts = {"cells": len(results.cells), "trials": len(trials), **trials["status"].value_counts().to_dict()}
    counts = {name: summary.get(name, counts.get(name, 0)) for name in COUNTED}
    settings = study.model_dump(mode="json", include={"title", "search", "training", "evaluation", "seeds"})
    tags = {f"dml.setting.{key}": value for key, value in parameters(settings).items()}
    tags |= {"dml.tuning": mark(study) or "tuned", "mlflow.source.name": "dml"}
    tags |= {name: commit for name in COMMIT if (commit := str(summary.get("git_commit", "")))}
    counted_cells = f"{counted(len(results.cells), 'cell')}, {counted(len(results.trials), 'trial')}"
    tags["mlflow.note.content"] = f"**{plain(study.title)}**: {counted_cells}, {len(results.failures)} failed"
    names, first = list(results.cells), for_use(list(results.cells.values()))[:1]
    usable = {names[place]: metrics[names[place]] for group in first for place in group if names[place] in metrics}
    means = {name: scores["objective.mean"] for name, scores in usable.items() if "objective.mean" in scores}
    winner = best_of(validations(results, means) or means) if means else ""
    if winner:
        winning_settings = {**_place(results, winner), **_chosen(results, winner)}
        tags |= {"dml.winner": winner, **{f"winner.{key}": str(value) for key, value in winning_settings.items()}}
    shown = {**metrics.get(winner, {}), **_finite(counts)}
    return Run(
        "study", study.name, None, STATUS[state], *_times(trials["started"], trials["seconds"]), tags, metrics=shown
    )


def _times(started: Iterable[str | None], seconds: Iterable[float]) -> tuple[float, float]:
    """When the first of some trials began, in seconds since the epoch, and the seconds until the last one ended."""
    times = [(datetime.fromisoformat(t).timestamp(), s) for t, s in zip(started, seconds, strict=True) if t]
    start = min((begun for begun, _ in times), default=0.0)
    return start, max((begun + taken for begun, taken in times), default=start) - start


def _finite(values: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among some values."""
    return {key: float(n) for key, n in values.items() if isinstance(n, int | float) and math.isfinite(n)}


ALIAS = "champion"
CARD = "champion.json"
KEPT = ("options", "resize")  # settings of the dataset that are not shown


def champions(store: Path, study: str) -> list[Run]:
    """The champions of a study that `dml refit` trained, of all names."""
    runs = []
    for place in sorted((store / "champions").glob("*")):
        cards = sorted(place.glob(f"*/model/{CARD}"), key=lambda path: path.stat().st_mtime_ns)
        for path in cards:
            card = read_json(path)
            if card is not None and card["study"] == study:
                runs.append(_champion(place.name, path, card, latest=path == cards[-1]))
    return runs


def _champion(name: str, path: Path, card: dict[str, Any], latest: bool) -> Run:
    folder, recipe = path.parent, card["recipe"]
    winner, described = recipe["methods"][0], read_json(folder / "model.json")
    identity = card["key"] + ("+onnx" if (folder / "model.onnx").is_file() else "")
    parts = {f"recipe/{recipe['score']}.{part}": winner[part] for part in ("mean", "low", "high")}
    data = {key: value for key, value in card["dataset"].items() if key not in KEPT}
    return Run(
        "champion",
        f"{name}, champion",
        tags={
            "dml.identity": f"{name}/{identity}",
            "dml.key": card["key"],
            "dml.git_commit": card["versions"]["git_commit"],
        },
        params={"rate": recipe["rate"], "method": winner["method"], **recipe["settings"], "dataset": data},
        metrics={key: value / 100 for key, value in parts.items() if value is not None},
        files={CARD: path},
        model=Model(
            folder,
            identity,
            described["image_shape"],
            described["network"]["embedding_size"],
            name=ALIAS,
            register=name,
            alias=ALIAS if latest else None,
        ),
    )


SUMMARY = "summary.json"
AUDIT_COUNTS = ("images", "classes", "suspects", "contradicting_duplicates", "looks")


def audits(folder: Path, study: str) -> list[Run]:
    """The run of the audit in a folder (`audit/<study>`); none if there is no audit."""
    content = read_json(folder / SUMMARY)
    if content is None:
        return []
    params = {"dataset": content["dataset"], "representation": content["representation"], **content["settings"]}
    settings = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:16]
    metrics = {name: float(content[name]) for name in AUDIT_COUNTS}
    for part in ("rate", "review", "measured", "losses"):
        metrics |= {f"{part}.{name}": value for name, value in _finite(content[part] or {}).items()}
    files = [folder / "index.html", folder / SUMMARY, *sorted(folder.glob("*.csv"))]
    return [
        Run(
            "audit",
            f"audit {study}",
            start=(folder / SUMMARY).stat().st_mtime,
            tags={"dml.audit": content["digest"], "dml.settings": settings},
            params=params,
            metrics=metrics,
            files={path.name: path for path in files},
        )
    ]
