"""`dml check`: is a study valid, and what does it cost?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dml.cli.project import Project, find_project, studies_of, study_argument

if TYPE_CHECKING:
    from dml.sweep.estimate import Estimate

SECONDS = 4.0  # for timing the studies of one command, together


def check(
    studies: Annotated[
        list[str], study_argument(metavar="STUDY...", help="Studies, or groups such as paper-eps.", show_default=False)
    ],
) -> None:
    """Check studies and print what they cost: cells, trials, hours, disk. Trains nothing.

    What only the images can tell is checked too, once the study's data stages ran.

    [bold]Examples[/bold]: dml check quickstart · dml check paper-eps
    """
    project = find_project()

    from dml.config import load_study

    names = studies_of(project, studies)
    for name in names:
        load_study(Path(os.path.relpath(project.file(name))))
    print_costs(project, names)


def print_costs(project: Project, names: list[str]) -> None:
    """Print what studies cost, and their sum.

    Raises
    ------
    ValueError : a study cannot run, as `dml.sweep.checking` finds.
    """
    from dml.sweep.estimate import duration_text

    found = []
    for name in names:
        estimate = cost(project, name, SECONDS / len(names))
        print("\n".join(estimate.lines()), flush=True)
        found.append(estimate)
    known = [estimate.seconds for estimate in found if estimate.seconds is not None]
    if len(found) > 1 and known:
        print(f"together: {sum(one.trials for one in found)} trials, about {duration_text(sum(known))}")


def cost(project: Project, name: str, seconds: float) -> Estimate:
    """What a study costs.

    Parameters
    ----------
    seconds : to spend on timing.

    Raises
    ------
    ValueError : the study cannot run with its images, which were packed already.
    """
    from dml.config import check_files, load_study
    from dml.sweep.checking import check as check_data
    from dml.sweep.estimate import estimate, is_prepared
    from dml.sweep.published import published_trials
    from dml.sweep.starts import Starts

    study, root = load_study(project.file(name)), project.data(name)
    check_files(study, project.file(name))
    prepared = is_prepared(study, root)
    if prepared:
        check_data(study, root, project.file(name), Starts(project.results, project.store))
    return estimate(study, root, project.store, project.results, published_trials(project.published), seconds)
