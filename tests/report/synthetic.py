"""SYNTHETIC trials for the report's tests. Invented numbers, drawn from a formula: never shipped, never a result."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.config import DatasetSection, NoiseSection, ReferenceSection, SearchSection, Study, TrainingSection
from dml.config.evaluation import EvaluationSection
from dml.report.page.blocks import Folded, Table, rows
from dml.report.results import Results
from dml.types import Cell, LogUniform, Part, Uniform

KEY = "test/fine/recall@1"  # of the objective's score
EASIER = {"first": {"positives": "easy"}, "second": {"positives": "random"}}  # what a claim compares
DIAGNOSTICS = {
    "loss": 0.1234567,
    "active_share": 0.4,
    "tuples": 64.0,
    "dropped_anchors": 0.0,
    "cut_positives": 0.0,
    "images_per_second": 12345.6,
}
SEARCH = {"margin": Uniform(0.05, 0.5)}


class SyntheticStudy(Study):
    """A study whose cells need no parts of the library."""

    def cells(self) -> list[Cell]:
        axes = itertools.product(self.datasets, self.noise, self.losses)
        return list(self._combined(axes))

    def _combined(self, axes) -> Iterator[Cell]:
        for dataset, noise, loss in axes:
            for rate, positives, negatives in itertools.product(noise.rates, self.positives, self.negatives):
                search = {**SEARCH, "scale": LogUniform(1, 10)} if loss.name == "margin" else SEARCH
                part = Part(loss.name, {}, search)
                yield Cell(dataset.label, noise.name, rate, part, positives, negatives)


def study(name: str = "digits", **changes) -> SyntheticStudy:
    """8 methods at three noise rates, three seeds."""
    dataset = DatasetSection(name="digits", train_on="coarse")
    content = {
        "name": name,
        "title": "Which tuples hold up under label noise?",
        "description": "Handwritten digits, trained on even and odd, evaluated on digits.\n\nInvented numbers.",
        "datasets": [dataset],
        "noise": noise([0.0, 0.2, 0.4]),
        "losses": ["triplet", "margin"],
        "positives": ["random", "easy"],
        "negatives": ["random", "semihard_random"],
        "seeds": [0, 1, 2],
        "search": SearchSection(trials=5, validation="true_labels"),
        "training": TrainingSection(steps=400),
        "evaluation": evaluation(["recall@1", "map@r"], ["test", "seen"]),
    }
    return SyntheticStudy(**{**content, **changes})


def small(name: str = "small", **changes) -> SyntheticStudy:
    """Two methods at two noise rates, one score: a page in a second."""
    content = {
        "noise": noise([0.0, 0.4]),
        "losses": ["triplet"],
        "negatives": ["random"],
        "evaluation": evaluation(["recall@1"], ["test"]),
    }
    return study(name, **{**content, **changes})


def noise(rates: list[float], *models: str) -> list[NoiseSection]:
    """Noise models with the same rates; by default only `uniform`."""
    return [NoiseSection(name=m, rates=rates) for m in models or ("uniform",)]


def evaluation(metrics: list[str], sets: list[str], every: int | None = 100, keep: bool = False) -> EvaluationSection:
    """What is measured, and whether embeddings are kept."""
    return EvaluationSection(metrics=metrics, every=every, sets=sets, keep_embeddings=keep)


def plane_study(name: str = "eps-planes", seeds: int = 8) -> SyntheticStudy:
    """Two methods at one rate, beside table 1 of the EPS paper, with 2-d embeddings."""
    dataset = DatasetSection(name="mnist", train_on="coarse")
    reference_values = [
        ReferenceSection(
            paper="eps",
            table="1",
            labels=f"digits, {labels} classes",
            method=method,
            dataset="mnist",
            match={"positives": positives},
            set=part,
        )
        for positives, method in (("random", "Triplet"), ("easy", "EPS + Triplet"))
        for part, labels in (("seen", "train"), ("test", "test"))
    ]
    return study(
        name,
        title="Do easy positives separate digits that share a label?",
        datasets=[dataset],
        noise=noise([0.0]),
        losses=["triplet"],
        negatives=["random"],
        seeds=list(range(seeds)),
        search=SearchSection(sampler="fixed", trials=1),
        evaluation=evaluation(["recall@1", "recall@5", "recall@10"], ["seen", "test"], every=None, keep=True),
        reference_values=reference_values,
        training=TrainingSection(steps=400, embedding_size=2),
    )


def write(of: Study, root: Path, alter: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame) -> pd.DataFrame:
    """Write invented results of a study below `root` and return its trials."""
    rows = [row for cell in of.cells() for row in _trials(of, cell, root)]
    frame = alter(pd.DataFrame(rows))
    folder = root / "results" / of.name
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / "trials.parquet")
    summary = {
        "study": of.name,
        "cells": len(of.cells()),
        "trials": len(frame),
        "already_done": 3,
        "seconds": 123.4,
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "versions": {"python": "3.11.2", "torch": "2.14.1"},
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return frame


def score(cell: Cell, part: str, metric: str, seed: int) -> float:
    """The formula behind every invented score, in [0, 1]."""
    if part != "validation" and metric in ("recall@5", "recall@10"):
        return 0.9 + 0.01 * np.random.default_rng(_number(cell.name, part, metric, seed)).random()
    base = {"triplet": 0.86, "margin": 0.84, "contrastive": 0.78}.get(cell.loss.name, 0.8)
    slope = {"random": 0.9, "easy": 0.45}.get(cell.positives, 0.6)
    slope *= {"semihard_random": 1.15, "distance_weighted": 0.85}.get(cell.negatives, 1.0)
    lower = {"recall@1": 0.0, "map@r": 0.22, "nmi": 0.15, "nmi+": 0.15, "recall@5": -0.08, "recall@10": -0.1}[metric]
    noise = np.random.default_rng(_number(cell.name, part, metric, seed)).normal(0, 0.012)
    level = base - (0.1 if cell.positives == "random" and cell.rate == 0 else 0) - slope * cell.rate**1.4
    return float(np.clip(level - lower + (0.04 if part == "seen" else 0) + noise, 0, 1))


def _trials(of: Study, cell: Cell, root: Path) -> Iterator[dict]:
    level = of.dataset(cell.dataset).evaluate_on[0]
    tuned = of.search.trials if of.search.sampler != "fixed" else 0
    for number in range(tuned):
        rng = np.random.default_rng(_number(cell.name, "tune", number))
        value = score(cell, "validation", "recall@1", number) - 0.1 * rng.random()
        settings = {f"loss.{key}": round(float(rng.uniform(0.05, 0.5)), 4) for key in cell.loss.search}
        row = _row(of, cell, "tune", number, 0, settings)
        yield row | {"objective": value, f"validation/{level}/recall@1": value}
    for number, seed in enumerate(of.seeds):
        settings = {f"loss.{key}": 0.2 for key in cell.loss.search}
        row = _row(of, cell, "confirm", number, seed, settings)
        scores = {
            f"{part}/{level}/{metric}": score(cell, part, metric, seed)
            for part in of.evaluation.sets
            for metric in of.evaluation.metrics
        }
        key = f"test/{level}/recall@1"
        steps = range(100, of.training.steps + 1, 100)
        curve = [[step, {key: scores[key] * (1 - 0.4 * np.exp(-step / 180))}] for step in steps]  # still rising
        row |= scores | {"objective": scores[key], "curve": json.dumps(curve)}
        if of.evaluation.keep_embeddings:
            _embeddings(root / "store" / "trials" / row["key"], cell, seed)
        yield row


def _row(of: Study, cell: Cell, phase: str, number: int, seed: int, settings: dict) -> dict:
    key = hashlib.sha256(f"{of.name}/{cell.name}/{phase}/{number}/{seed}".encode()).hexdigest()[:16]
    return {
        "key": key,
        "study": of.name,
        "cell": cell.name,
        "phase": phase,
        "number": number,
        "seed": seed,
        "status": "finished",
        "error": "",
        "dataset": cell.dataset,
        "noise": cell.noise,
        "rate": cell.rate,
        "loss": cell.loss.name,
        "positives": cell.positives,
        "negatives": cell.negatives,
        "settings": json.dumps(settings),
        "objective": None,
        "seconds": 1.5 + number,
        "curve": "[]",
        "diagnostics": json.dumps(DIAGNOSTICS),
        "started": f"2026-01-01T00:00:{number:02d}+00:00",
        "host": "synthetic",
    }


def _embeddings(folder: Path, cell: Cell, seed: int) -> None:
    rng = np.random.default_rng(_number(cell.name, seed))
    labels = np.repeat(np.arange(10), 80)
    spread = 4.0 if cell.positives == "easy" else 1.0
    centres = np.array([[3.0 * (d % 2) + spread * np.cos(d), spread * np.sin(d)] for d in range(10)])
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(
        folder / "embeddings.npz",
        embeddings=(centres[labels] + rng.normal(0, 0.5, (len(labels), 2))).astype("float32"),
        labels_fine=labels,
        labels_coarse=labels % 2,
        set=np.where(labels < 6, "seen", "test"),
    )


def only_confirmed(frame: pd.DataFrame) -> pd.DataFrame:
    """Without tuning trials: test classes choose, and the part of a search is not known."""
    return frame[frame["phase"] == "confirm"].copy()


def scoring(scores: Mapping[Any, Any], *columns: str, key: str = KEY) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """`alter` of `write` that gives confirmed trials these scores, one per seed."""

    def alter(frame: pd.DataFrame) -> pd.DataFrame:
        for values, own in scores.items():
            rows = (frame["phase"] == "confirm") & (frame[list(columns)] == values).all(axis=1)
            frame.loc[rows, key] = own
        return frame

    return alter


def of_study(results: Results, **changes: Any) -> Results:
    """The results with another study, which differs in these sections or settings."""
    return replace(results, study=results.study.model_copy(update=changes))


def flat(blocks: Iterable[Any]) -> Iterator[Any]:
    """The blocks of a section and those of its folded ones; None is left out."""
    for block in blocks:
        if isinstance(block, Folded):
            yield from flat(block.blocks)
        elif block is not None:
            yield block


def first_row(table: Table) -> dict[str, str]:
    """What a page shows of a table's first row, by the key of its column."""
    return dict(zip((column.key for column in table.columns), (cell.text for cell in rows(table)[0]), strict=True))


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their place in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _number(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:8], "big")


def with_classes(frame: pd.DataFrame, root: Path, key: str, counts: np.ndarray, shift: int = 0) -> pd.DataFrame:
    """Trials that left the scores of `len(counts)` classes, of which their scores `key` are the means; easy is better.

    Parameters
    ----------
    counts : queries of each class. `shift` : by how much the classes of a seed differ from those of the one before.
    """
    draw = np.random.default_rng(0)
    of_class = draw.normal(0.6, 0.2, len(counts))
    for i in frame.index[frame["phase"] == "confirm"]:
        own = of_class + draw.normal(0, 0.05, len(counts)) + 0.01 * frame.loc[i, "seed"]
        own = np.clip(own + 0.02 * (frame.loc[i, "positives"] == "easy"), 0, 1).astype(np.float32)
        frame.loc[i, key] = np.average(own, weights=counts)
        folder = root / "store" / "trials" / frame.loc[i, "key"]
        folder.mkdir(parents=True, exist_ok=True)
        level, classes = key.rpartition("/")[0], np.arange(len(counts)) + shift * frame.loc[i, "seed"]
        arrays = {key: own, f"{level}/class": classes, f"{level}/queries": counts}
        np.savez(folder / "classes.npz", **arrays)
    return frame


def keep(results: Results, labels: np.ndarray, dimensions: int = 4) -> None:
    """Write invented embeddings of each confirmed trial."""
    for key in results.confirmed["key"]:
        rng = np.random.default_rng(_number(key))
        centres = rng.normal(0, 3, (int(labels.max()) + 1, dimensions))
        points = (centres[labels] + rng.normal(0, 1, (len(labels), dimensions))).astype("float32")
        folder = results.store / "trials" / key
        folder.mkdir(parents=True, exist_ok=True)
        sets = np.full(len(labels), "test")
        np.savez(folder / "embeddings.npz", embeddings=points, labels_fine=labels, labels_coarse=labels % 2, set=sets)
