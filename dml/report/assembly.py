"""Assembles pages: a study's sections in the order of reading (files in `dml/report/sections/`), and its head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dml import discovery
from dml.config import Study
from dml.config.for_use import SAMPLERS, explained
from dml.counting import counted
from dml.papers import papers
from dml.report.analysis.intervals import interval_sources, summary_at
from dml.report.labels import Texts, noise_label
from dml.report.loading import load
from dml.report.methods import EXPLAINED, after_comma, mark
from dml.report.numbers import NOTHING, duration, rate
from dml.report.page.assets import Assets, SavedDrawing
from dml.report.page.blocks import Drawing
from dml.report.page.html import Notice, Page, PageSection
from dml.report.recommendation import outcome_of
from dml.report.results import FigureData, Results
from dml.report.sections import Section
from dml.types import ScoreKey

STUDY = (
    "effects_of_choices",
    "winners",
    "untrained",
    "against_setting",
    "reference_values",
    "claims",
    "all_results",
    "settings",
    "training_log",
    "provenance",
    "failures",
)
"""A study's page."""

KEY_FIGURE = ("against_setting", "winners")
"""The first drawing of the first of these that applies is the study's key figure, `figures/<study>/key.png`, unless a
section of its paper has `key_figure = True`."""

COMPARING = (
    *("effects_of_choices", "winners", "untrained", "against_setting", "reference_values"),
    *("claims", "all_results"),
)
"""Those that compare methods: their headings say if the study's learning rate is not tuned."""


def points(results: Results) -> pd.DataFrame:
    """Columns rate, method, score, low, high (percent); one row per cell with a result."""
    rows = []
    datasets, models = ({pair[i] for pair in results.conditions} for i in (0, 1))
    for name, cell in results.cells.items():
        s = summary_at(results, name, results.objective(cell.dataset), "s")
        label = results.methods[name].label
        if len(datasets) > 1:
            label = f"{cell.dataset}: {label}"
        if len(models) > 1:
            label = f"{label} ({noise_label(cell.noise)})"
        if s["s n"]:
            rows.append((cell.rate, label, s["s mean"], s["s low"], s["s high"]))
    return pd.DataFrame(rows, columns=["rate", "method", "score", "low", "high"])


say = Texts(__file__)

PACKAGE = "dml.report.sections"
MANY = 5  # datasets; so many are counted at the head of a page, and named where the page says what was run


def study_page(results: Results, root: Path) -> Page:
    """Save the figures and CSV files of a study's page below `root`, and what `dvc plots` draws; return the page."""
    study, assets = results.study, Assets(root, results.study.name)
    applicable = sections_of(results)
    leading = [name for name, section in applicable.items() if getattr(section, "key_figure", False)]
    key = next((name for name in (*leading, *KEY_FIGURE) if name in applicable), None)
    sections, figure, tuning = [], None, mark(study)
    for name, section in applicable.items():
        blocks = list(section.content(results))
        if name == key:
            first = next((block for block in blocks if isinstance(block, Drawing) and block.figure is not None), None)
            blocks = [replace(first, name="key", png=True) if block is first and first else block for block in blocks]
        saved = assets.save(blocks)
        if name == key:
            figure = next((block for block in saved if isinstance(block, SavedDrawing)), None)
        if saved:
            sections.append(PageSection(section.anchor, section.title, saved, tuning * (name in COMPARING)))
    plot = root / "plots" / f"{study.name}.csv"
    plot.parent.mkdir(exist_ok=True)
    points(results).to_csv(plot, index=False, float_format="%.6g")
    return Page(
        name=study.name,
        href=f"studies/{study.name}.html",
        eyebrow=f"Study {study.name}",
        title=study.title,
        description=[" ".join(text.split()) for text in study.description.split("\n\n") if text.strip()],
        sections=sections,
        facts=_facts(results),
        notices=_notices(results),
        key=figure,
        waiting=results.confirmed.empty,
        verdict=outcome_of(results),
    )


def sections_of(results: Results) -> dict[str, Section]:
    """The sections of a study's page by their files' names; those of the study's paper come last."""
    places = [(PACKAGE, name) for name in STUDY]
    of_study = [paper for paper in papers() if results.study.name.startswith(f"{paper.name}-")]
    places += [(paper.package, name) for paper in of_study for name in paper.study_sections]
    sections: dict[str, Section] = {name: discovery.build(package, name) for package, name in places}
    return {name: section for name, section in sections.items() if section.applies(results)}


def _facts(results: Results) -> list[tuple[str, str, str]]:
    """(label, value, smaller print) for the head of the page."""
    study, trials = results.study, results.trials
    budget = "defaults" if study.search.sampler == "fixed" else f"{counted(study.search.trials, 'trial')} for each cell"
    stop = ", stopped at the best step" if study.search.stop == "best" else ""
    counts = trials["status"].value_counts()
    others = [f"{int(counts['failed'])} failed"] if counts.get("failed") else []
    rates = sorted({cell.rate for cell in results.cells.values()})
    spread = " to ".join(map(rate, dict.fromkeys((rates[0], rates[-1]))))
    spread = f"{spread} of the labels made wrong" if results.user_labels else f"label noise {spread}"
    data = [dataset.label for dataset in study.datasets]
    return [
        ("Data", ", ".join(data) if len(data) < MANY else counted(len(data), "dataset"), spread),
        ("Cells", f"{len(results.cells):,}", counted(len(set(results.methods.values())), "method")),
        ("Trials", f"{int(counts.get('finished', 0)):,}", ", ".join(["finished", *others])),
        ("Seeds", f"{len(study.seeds)}", "per cell" + (", with its best settings" if study.search.tunes else "")),
        ("Search", budget, SAMPLERS.get(study.search.sampler, study.search.sampler) + stop + after_comma(mark(study))),
        ("Training", duration(float(trials["seconds"].sum())) if len(trials) else NOTHING, "sum over all trials"),
    ]


def _notices(results: Results) -> list[Notice]:
    notices = [Notice(results.origin)] if results.origin else []
    tuning = EXPLAINED[mark(results.study)]
    texts = [tuning, *explained(results.study)]
    notices += [Notice(text, on_card=False) for text in texts if text and not results.confirmed.empty]
    notices += [Notice(results.problem, bad=True)] if results.problem else []
    failed, missing = len(results.failures), results.missing()
    if failed:
        notices.append(Notice(say("failed", trials=counted(failed, "trial")), bad=True))
    if missing and not results.trials.empty:
        cells, seeds = counted(len(missing), "cell"), counted(sum(missing.values()), "seed")
        notices.append(Notice(say("missing", incomplete=cells, cells=len(results.cells), seeds=seeds)))
    return notices


def figure_arrays(
    study: Study, results: Path, store: Path, before: Mapping[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """By `<figure>/<key>/<set>/<field>`; of trials without embeddings, only each class's scores."""
    loaded = replace(load(study, results, store), figures=FigureData(before=before or {}))
    objectives = {loaded.objective(cell.dataset) for cell in loaded.cells.values()}
    for key in ("", *(str(ScoreKey.parse(key)._replace(metric="recall@1")) for key in objectives)):
        interval_sources(loaded, key)  # asks for each class's scores
    for name, section in sections_of(loaded).items():
        if name not in STUDY:  # others take no arrays
            list(section.content(loaded))
    return loaded.figures.computed
