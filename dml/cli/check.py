"""`dml check`: is a study valid, and what does it cost?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dml.cli.project import Project, find_project, studies_of, study_argument

if TYPE_CHECKING:
    from dml.config import Study
    from dml.sweep.cost import Estimate

SECONDS = 1.0  # for timing the studies of one command, together


def check(
    studies: Annotated[
        list[str],
        study_argument(metavar="STUDY", help="Studies, their files, or groups such as paper-eps.", show_default=False),
    ],
) -> None:
    """Check studies and print what they cost: cells, trials, hours. Trains nothing.

    What only the images can tell is checked too, once the study's data stages ran.

    [bold]Examples[/bold]: dml check quickstart · dml check paper-eps
    """
    project = find_project()
    names = studies_of(project, studies)

    from dml.config import load_study

    for name in names:
        load_study(Path(os.path.relpath(project.file(name))))
    check_outputs(project, names)
    print_costs(project, names)


def check_outputs(project: Project, names: list[str], audited: Sequence[str] = ()) -> None:
    """Raise a ValueError if a person's file is where a stage of these studies writes."""
    from dml.config import load_study
    from dml.own_files import check

    audits = [name for name in names if name in audited or load_study(project.file(name)).audit is not None]
    check(project.root, names, ["report", *(f"audit/{name}" for name in audits)])


def print_costs(project: Project, names: list[str], runs: bool = False) -> None:
    """Print what studies cost, and their sum."""
    from dml.config import load_study, place_of
    from dml.config.for_use import budget_text, explained, one_search
    from dml.sweep.cost import AROUND, duration_text
    from dml.sweep.execution import cluster

    estimates, problems = [], []
    with chdir(project.root):  # paths in studies are relative to it
        for name in names:
            file = project.file(name).relative_to(project.root)
            estimate = cost(project, name, SECONDS / len(names))
            study = load_study(file)
            lines = [*estimate.lines(), f"  tuning: {budget_text(study)}"]
            if (one := one_search(study)) and len(study.blocks) > 1:
                lines.append(f"  intervals: of {one}")
            lines += [f"  note: {text}" for text in explained(study)]
            print("\n".join([*lines, *_data_notes(project, study)]), flush=True)
            estimates.append(estimate)
            has_snapshot = (project.snapshots / name).is_dir()  # then nothing may be left to train
            try:
                if estimate.stored < estimate.trials and not has_snapshot:
                    cluster.check_machine(study.resources, study.training.workers)
                    if runs:
                        cluster.check()
            except (ValueError, ConnectionError) as error:
                problems.append(f"{place_of(file, 'resources')}: {error}")
    seconds = [estimate.seconds for estimate in estimates if estimate.seconds is not None]
    if len(estimates) > 1 and seconds:
        about = "about" if len(seconds) == len(estimates) else "more than"
        print(
            f"together: {sum(one.trials for one in estimates)} trials, {about} {duration_text(sum(seconds) + AROUND)}"
        )
    if problems:
        raise ValueError("\n".join(problems))


def _data_notes(project: Project, study: Study) -> Iterator[str]:
    """Lines about files and classes that are left out, and about identical images on both sides of a split."""
    from dml.data import sources
    from dml.sweep.inputs.checking import data_notes

    for dataset in study.datasets:
        left_out = sources.left_out(sources.build(dataset.name, **dataset.settings))
        try:
            notes = data_notes(study, dataset.label, project.data(study.name), left_out)
        except (FileNotFoundError, ValueError):  # they are not packed, or cannot be used, which their stages say
            notes = [left_out]
        yield from (f"  {dataset.label}: {note}" for note in notes if note)


def cost(project: Project, name: str, seconds: float) -> Estimate:
    """What a study costs."""
    from dml.config import check_data, check_files, load_study
    from dml.files import read_json
    from dml.sweep.cost import estimate, is_prepared
    from dml.sweep.inputs.checking import check as check_prepared
    from dml.sweep.inputs.checking import check_own_files
    from dml.sweep.plan.space import tuning_trials
    from dml.sweep.store.init_from import InitFromFinder, snapshot_outcomes

    study, root = load_study(project.file(name)), project.data(name)
    file = project.file(name).relative_to(project.root)
    check_files(study, file)
    if is_prepared(study, root):
        check_prepared(study, root, file, InitFromFinder(project.results, project.store))
    else:
        packed = read_json(root / "pack.json") or {}
        check_data(study, file, packed, tunes=lambda cell: tuning_trials(study, cell) > 0)
        check_own_files(study, file)
    return estimate(study, root, project.store, project.results, snapshot_outcomes(project.snapshots), seconds)
