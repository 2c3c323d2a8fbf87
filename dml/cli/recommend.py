"""`dml recommend`: what to train with at a noise rate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dml.cli.project import Project, StudyName, check_name, find_project
from dml.files import read_json

if TYPE_CHECKING:
    from dml.report.recommendation import Recommendation
    from dml.report.results import Results

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", help="Share of wrong labels: the nearest measured one counts. None: labels as given, however wrong."
    ),
]


def audited_rate(folder: Path, dataset: str) -> tuple[float, str] | None:
    """The share of wrong labels that a dataset's audit estimated, by its review or as a first guess, and which."""
    summary = read_json(folder / "summary.json") or {}
    if not summary or summary.get("dataset", dataset) != dataset:
        return None
    of_review, first = "estimated by the review of its audit", "first guess of its audit"
    for part, name, source in (("review", "rate", of_review), ("rate", "guess", first)):
        rate = (summary.get(part) or {}).get(name)
        if isinstance(rate, int | float) and 0 <= rate <= 1:  # a NaN is not
            return rate, source
    return None


Dataset = Annotated[str | None, typer.Option("--dataset", help="A dataset of the study; none: its only one.")]
Noise = Annotated[
    str | None,
    typer.Option("--noise", help="A noise of the study, or a level, such as uniform-0.2. None: labels as given."),
]
Score = Annotated[
    str | None, typer.Option("--score", help="What decides: a metric, or a score such as test/fine/map@r.")
]


def recommend(
    study: StudyName,
    rate: Rate = None,
    dataset: Dataset = None,
    noise: Noise = None,
    score: Score = None,
    json: Annotated[Path | None, typer.Option("--json", help="Also write it to this file.")] = None,
) -> None:
    """Show what to train with: a study's winner on labels as given, what is as good beyond chance, and the settings.

    --rate asks for another share of wrong labels, --noise for a level of the study. Takes results of this project, else
    the published ones. It trains nothing.

    [bold]Examples[/bold]: dml recommend my-images · dml recommend flowers-frozen --rate 0.2 --json best.json
    """
    from dml.files import write_json

    project = find_project()
    check_name(project, study)
    recommended = recommendation(project, study, rate, dataset, noise, score)
    print(recommended["text"])
    if json is not None:
        write_json(json, recommended["content"])


def recommendation(project: Project, study: str, *options: Any) -> dict[str, Any]:
    """The `text` and `content` of a study's recommendation with these options, remembered until an input changes."""

    def make() -> dict[str, Any]:
        from dml.cli.recommendation_text import recommendation_text
        from dml.report.recommendation import FREE

        best, source, _ = find_recommendation(project, study, *options)
        commands = [command(study, *options) + FREE * best.free]
        content = {**best.content(), "rate_source": source, "commands": commands}
        return {"text": recommendation_text(best, source, commands), "content": content}

    return _remembered(project, study, "recommend", options, make)


def outcome(project: Project, study: str) -> dict[str, str] | None:
    """The `text` and `command` of a study's outcome, remembered; None if it has none."""

    def make() -> dict[str, str] | None:
        from dml.report.recommendation import outcome_of

        found = outcome_of(load_results(project, study))
        return None if found is None else {"text": found.text, "command": found.command}

    return _remembered(project, study, "outcome", (), make)


def _remembered(project: Project, study: str, name: str, options: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What is made of a study's results, from the store if nothing that decides it has changed."""
    from dml.files import remembered

    folders = [
        folder / study for folder in (project.results, project.snapshots, project.root / "audit", project.root / "data")
    ]
    inputs = [*folders, project.studies, project.root / "papers"]
    return remembered(project.store / "remembered" / f"{name}-{study}.json", (study, *options), inputs, make)


def find_recommendation(
    project: Project, study: str, rate: float | None, dataset: str | None, noise: str | None, score: str | None
) -> tuple[Recommendation, str, Results]:
    """A study's recommendation, where its rate is from, and the results that it is made of."""
    check_name(project, study)
    if not any((folder / study).is_dir() for folder in (project.results, project.snapshots)):
        raise ValueError(
            f"study {study!r} has no finished trials. Run it: dml run {study}. "
            f"A model of what is free needs none: dml refit {study} --free"
        )

    from dml.config.data import makes_noise
    from dml.report import recommendation
    from dml.report.analysis.selection import dataset_of

    results = load_results(project, study)
    dataset = dataset_of(results, dataset)
    audited = audited_rate(project.root / "audit" / study, dataset)
    wrong, source = audited or (None, "")
    best = recommendation.recommend(results, rate, dataset, noise, score, wrong)
    if rate is not None:
        source = "as asked for"
    elif best.rate is None:
        source = f"nobody knows how many of these labels are wrong: dml audit {study}"
    elif audited is None or not makes_noise(best.noise) or any(noise.by_given for noise in results.study.noise):
        source = "that of the study"
    return best, source, results


def load_results(project: Project, study: str) -> Results:
    """The results of a study here, else the published ones."""
    from dml.config import load_study
    from dml.report.loading import load
    from dml.snapshots import Snapshot

    read = load_study(project.file(study))
    snapshot = Snapshot(project.snapshots / study)
    return load(read, project.results / study, project.store, snapshot)


def command(study: str, rate: float | None, dataset: str | None, noise: str | None, score: str | None) -> str:
    """The command that trains what is recommended with these options."""
    options = {"rate": rate if rate is None else f"{rate:g}", "dataset": dataset, "noise": noise, "score": score}
    given = "".join(f" --{name} {value}" for name, value in options.items() if value is not None)
    return f"dml refit {study}{given}"
