"""What stands on a study's page, section by section; `templates/study.html` says how it looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dml.report import comparisons, figures, planes, progress, reproduction, robustness, runs, tables
from dml.report.comparisons import interval
from dml.report.content import Page, Section, Writer
from dml.report.matrix import matrix
from dml.report.provenance import facts, provenance
from dml.report.published import PAPERS, metric_label
from dml.report.results import SETS, Results, readable, score_label
from dml.report.table import percent

MANY = 40  # methods: more of them stand in a matrix of squares, not in panels or rows


def study_page(results: Results, store: Path, root: Path) -> Page:
    """Make a study's figures and CSV files below `root`, and its page."""
    study, writer = results.study, Writer(root, results.study.name)
    plane = _planes(results, store, writer)
    sections = [
        _winners(results, writer, key_is_taken=not plane.empty),
        plane,
        _published(results, writer),
        _all_results(results, writer),
        _robustness(results, writer),
        _settings(results, writer),
        _training(results, writer),
        _what_ran(results, writer),
        _failures(results),
    ]
    kept = [section for section in sections if not section.empty]
    key = [image for section in kept for image in section.figures if image.light.endswith(f"{study.name}-key.svg")]
    description = [" ".join(text.split()) for text in study.description.split("\n\n") if text.strip()]
    return Page(
        name=study.name,
        href=f"studies/{study.name}.html",
        title=study.title,
        description=description,
        facts=facts(results),
        notices=_notices(results),
        sections=kept,
        findings=sections[0].findings,
        key=key[0] if key else None,
    )


def _notices(results: Results) -> list[dict[str, Any]]:
    notices: list[dict[str, Any]] = []
    if results.problem:
        notices.append({"text": results.problem, "bad": True})
    failed = len(runs.failures(results))
    if failed:
        notices.append({"text": f"{_count(failed, 'trial')} failed; tracebacks are at the page's end.", "bad": True})
    lacking = results.missing()
    if lacking and not results.trials.empty:
        seeds = sum(lacking.values())
        text = f"{_count(len(lacking), 'cell')} of {len(results.cells)} not complete: {_count(seeds, 'seed')} missing."
        notices.append({"text": text, "bad": False})
    return notices


def _winners(results: Results, writer: Writer, key_is_taken: bool) -> Section:
    section = Section("wins", "Which method wins")
    section.findings = _findings(results)
    for at, (dataset, noise) in enumerate(_axes(results)):
        key = results.objective(dataset)
        rates = {c.rate for c in results.cells.values() if (c.dataset, c.noise) == (dataset, noise)}
        suffix = "key" if at == 0 and not key_is_taken else f"scores-{dataset}-{noise}"
        where = _where(results, dataset, noise)
        methods = len({m.label for name, m in results.methods.items() if results.cells[name].dataset == dataset})
        if methods > MANY:
            figure = matrix(results, dataset, noise, max(rates), key)
            alt = f"{score_label(key)} of each loss with each way of choosing tuples, as squares{where}."
            caption = (
                f"{score_label(key)} with {max(rates):.0%} label noise{where}: a square is a method, the darker the "
                "higher its mean over seeds; the frame marks the highest, a cross one of which no seed finished."
            )
        elif len(rates) > 1:
            figure = figures.against_noise(results, dataset, noise, key)
            alt = f"{score_label(key)} against the label-noise rate, for each loss and way of choosing tuples{where}."
            caption = (
                f"{score_label(key)}, against the share of wrong training labels{where}. Mean over seeds, with its 95% "
                "confidence band; grey: the lines of the other panels. Colours: how the positive is chosen. Panels: "
                "the loss, and how the negative is chosen."
            )
        else:
            keys = [k for k in results.score_keys if not k.startswith("validation/")]
            figure = figures.intervals(results, dataset, noise, min(rates), keys)
            alt = f"Scores of each method with their confidence intervals{where}."
            caption = f"Mean over seeds with its 95% confidence interval{where}; ticks: the seeds" + (
                "; open diamonds: published." if results.study.published else "."
            )
        section.figures += writer.figure(suffix, figure, alt, caption, png=True)
    section.tables = writer.table(comparisons.winners(results))
    made = (comparisons.choice(results, "positives"), comparisons.choice(results, "negatives"))
    for table in (*made, comparisons.winner_pairs(results)):
        section.folded += [{"title": t.title, "figures": [], "tables": [t]} for t in writer.table(table)]
    return section


def _findings(results: Results) -> list[dict[str, str]]:
    """The winner of each dataset and noise rate in a sentence, for at most six of them."""
    table = comparisons.winners(results)
    if table is None or len(table.frame) > 6:
        return []
    found = []
    for row in table.frame.to_dict("records"):
        key = results.objective(row["dataset"])
        where = f"{metric_label(key.split('/', 2)[2])}, {row['rate']:.0%} label noise"
        where += _where(results, row["dataset"], row["noise"]) + f", {SETS[key.split('/')[0]]}"
        text = f"{interval(row['lead difference'], row['lead low'], row['lead high'])} over {row['runner-up']}."
        if row["others"] > 1:
            text += f" {row['told apart']} of {row['others']} others are worse beyond chance."
        if not row["others"]:
            text = "The only method with results."
        found.append({"where": where, "score": f"{percent(row['score mean'])} %", "who": row["winner"], "text": text})
    return found


def _planes(results: Results, store: Path, writer: Writer) -> Section:
    section = Section("planes", "The plane of embeddings")
    if results.study.training.embedding_size == 2:
        caption = (
            "Each point is an image, each colour a class; the numerals stand at the classes' medians. The first seed "
            "of each method."
        )
        alt = "Two-dimensional embeddings of each method, coloured by class."
        section.figures = writer.figure("key", planes.planes(results, store), alt, caption, png=True)
    return section


def _published(results: Results, writer: Writer) -> Section:
    section = Section("published", "Published and reproduced")
    section.tables = writer.table(reproduction.published_beside(results))
    papers = [PAPERS.get(p, p) for p in dict.fromkeys(spec.paper for spec in results.study.published)]
    section.text = "; ".join(papers) + "." if papers else ""
    return section


def _all_results(results: Results, writer: Writer) -> Section:
    section = Section("results", "All results")
    for table in tables.main_results(results):
        section.tables += writer.table(table)
    for dataset, noise in _axes(results):
        where = _where(results, dataset, noise)
        for key in results.score_keys:
            rates = {c.rate for c in results.cells.values() if (c.dataset, c.noise) == (dataset, noise)}
            if len(rates) < 2 or key == results.objective(dataset) or key.startswith("validation/"):
                continue
            label = score_label(key)
            name = "-".join(["noise", dataset, noise, *key.split("/")]).replace("@", "").replace("+", "plus")
            drawn = writer.figure(
                name,
                figures.against_noise(results, dataset, noise, key),
                f"{label} against the label-noise rate{where}.",
                f"{label}{where}. Mean over seeds and 95% confidence band.",
            )
            if drawn:
                section.folded.append({"title": f"{label}, against noise{where}", "figures": drawn, "tables": []})
    return section


def _robustness(results: Results, writer: Writer) -> Section:
    section = Section("robustness", "What noise takes away")
    for dataset, noise in _axes(results):
        if noise == robustness.TOPLINE or not robustness.has_topline(results, dataset):
            continue
        key = results.objective(dataset)
        caption = (
            f"{score_label(key)}, in percent of the topline: training on the clean share of the samples alone"
            f"{_where(results, dataset, noise)}. What is missing is lost to wrong labels, not to fewer good ones."
        )
        section.figures += writer.figure(
            f"topline-{dataset}-{noise}",
            figures.against_noise(results, dataset, noise, key, of_topline=True),
            f"{score_label(key)} in percent of the topline, against the label-noise rate.",
            caption,
        )
    section.tables = writer.table(robustness.table(results))
    return section


def _settings(results: Results, writer: Writer) -> Section:
    section = Section("settings", "Settings and searches")
    section.tables = writer.table(runs.best_settings(results))
    for dataset, noise in _axes(results):
        metric = metric_label(results.study.search.objective)
        section.figures += writer.figure(
            f"search-{dataset}-{noise}",
            progress.searches(results, dataset, noise),
            "Validation score of each tuning trial, and the best so far.",
            f"Each tuning trial's {metric} on validation classes (points) and the best so far (lines)"
            f"{_where(results, dataset, noise)}.",
        )
    return section


def _training(results: Results, writer: Writer) -> Section:
    section = Section("training", "Training")
    for dataset, noise in _axes(results):
        label = score_label(results.objective(dataset))
        section.figures += writer.figure(
            f"curves-{dataset}-{noise}",
            progress.learning_curves(results, dataset, noise),
            f"{label} during training.",
            f"{label}, during training{_where(results, dataset, noise)}: mean over seeds. No step was chosen by it.",
        )
    section.folded = [{"title": t.title, "figures": [], "tables": [t]} for t in writer.table(runs.diagnostics(results))]
    return section


def _what_ran(results: Results, writer: Writer) -> Section:
    section = Section("ran", "What was run", facts=provenance(results))
    section.command = f"make repro STUDY={results.study.name}"
    if not results.trials.empty:
        shown = results.trials.drop(columns=["host"], errors="ignore")
        section.download = f"data/{results.study.name}/trials.csv"
        (writer.root / section.download).write_text(shown.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
    return section


def _failures(results: Results) -> Section:
    section = Section("failures", "Failed trials")
    for row in runs.failures(results).to_dict("records"):
        what = f"trial {row['number']:g}" if row["phase"] == "tune" else f"seed {row['seed']:g}"
        failure = {"cell": row["cell"], "what": f"{row['phase']}, {what}", "headline": row["headline"]}
        section.failures.append(failure | {"error": row["error"]})
    return section


def _axes(results: Results) -> list[tuple[str, str]]:
    """The (dataset, noise model) pairs of a study, toplines last."""
    pairs = dict.fromkeys((cell.dataset, cell.noise) for cell in results.cells.values())
    return sorted(pairs, key=lambda pair: pair[1] == robustness.TOPLINE)


def _where(results: Results, dataset: str, noise: str) -> str:
    """`, on cub200 with uniform noise`, as far as the study has several."""
    several = len({d for d, _ in _axes(results)}) > 1, len({n for _, n in _axes(results)}) > 1
    return (f", on {dataset}" if several[0] else "") + (f", {readable(noise)} noise" if several[1] else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
