"""`dml recommend`: what to train with at a noise rate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dml.cli.noise_rate import ChosenRate, Rate, chosen_rate
from dml.cli.project import Project, StudyName, check_name, find_project

if TYPE_CHECKING:
    from dml.report.recommendation import Recommendation
    from dml.report.results import Results

Dataset = Annotated[str | None, typer.Option("--dataset", help="A dataset of the study; none: its only one.")]
Noise = Annotated[str | None, typer.Option("--noise", help="A noise model of the study; none: its only one.")]
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
    """Show what to train with at a noise rate: a study's winner, what is as good beyond chance, and the settings.

    Takes results of this project, else the published ones. It trains nothing.

    [bold]Examples[/bold]: dml recommend my-images --rate 0.23 · dml recommend flowers-frozen --json best.json
    """
    found, chosen, _ = find_recommendation(find_project(), study, rate, dataset, noise, score)

    from dml.cli.recommendation_text import recommendation_text
    from dml.files import write_json

    commands = [command(found, dataset, noise, score)]
    print(recommendation_text(found, chosen.source, commands))
    if json is not None:
        write_json(json, {**found.content(), "rate_source": chosen.source, "commands": commands})


def find_recommendation(
    project: Project, study: str, rate: float | None, dataset: str | None, noise: str | None, score: str | None
) -> tuple[Recommendation, ChosenRate, Results]:
    """A study's recommendation, where its rate is from, and the results that it is made of.

    Raises
    ------
    ValueError : the study does not exist or has no results, or the rate or another name must be chosen.
    """
    check_name(project, study)

    from dml.report import recommendation
    from dml.report.analysis.selection import dataset_of

    results = load_results(project, study)
    dataset = dataset_of(results, dataset)
    measured = recommendation.rates_of(results, dataset, noise)
    chosen = chosen_rate(rate, project.root / "audit" / study, measured, study, dataset)
    return recommendation.recommend(results, chosen.value, dataset, noise, score), chosen, results


def load_results(project: Project, study: str) -> Results:
    """The results of a study here, else the published ones."""
    from dml.config import load_study
    from dml.report.loading import load
    from dml.snapshots import Snapshot

    read = load_study(project.file(study))
    snapshot = Snapshot(project.snapshots / study)
    return load(read, project.results / study, project.store, snapshot, project.data(study))


def command(found: Recommendation, dataset: str | None, noise: str | None, score: str | None) -> str:
    """The command that trains what is recommended."""
    options = {"dataset": dataset, "noise": noise, "score": score}
    given = "".join(f" --{name} {value}" for name, value in options.items() if value is not None)
    return f"dml refit {found.study} --rate {found.rate:g}{given}"
