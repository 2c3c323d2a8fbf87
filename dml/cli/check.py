"""`dml check`: is a study valid, and what does it cost?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dml.cli.project import Project, find_project, studies_of, study_argument

if TYPE_CHECKING:
    from dml.config import Study
    from dml.report.analysis.precision import Spread
    from dml.sweep.cost import Estimate

POINTS = 2.0  # a difference that is worth knowing


def tells_apart(project: Project, name: str, estimate: Estimate) -> str:
    """The difference from the winner that a study finds with a chance of 80%, and what 2 points need.

    The spread of differences is that of the study's own results, here or published, else of published studies of the
    same datasets with the same objective.
    """
    from dml.config import load_study
    from dml.report.analysis.precision import most_comparisons
    from dml.report.labels import metric_label
    from dml.sweep.cost import duration_text

    study = load_study(project.file(name))
    tests, seeds = most_comparisons(study), len(study.blocks)
    if study.splits > 1:
        return "  tells apart: not known: published spreads are over seeds, and this study compares class splits"
    if not tests:
        return ""
    found, source = _spread(project, study)
    if found is not None and not study.search.tunes:
        found = replace(found, searches=0.0)
    if found is None:
        return f"  tells apart: not known: {source}"
    metric = metric_label(study.search.objective)
    if seeds < 2:
        text = "  tells apart: one seed tells nothing apart"
    else:
        lead = found.detectable(seeds, tests)
        text = f"  tells apart: {seeds} seeds find a lead of {lead:.1f} points of {metric} in 80% of cases"
    needed = found.seeds_for(POINTS, tests)
    if needed is None:
        text += f"; for {POINTS:g} points no seeds are enough with one search: more tuning trials or class_splits are"
    elif needed > seeds:
        text += f"; {POINTS:g} points need {needed} seeds"
        if estimate.trial_seconds:
            added = (needed - seeds) * estimate.cells * estimate.trial_seconds / estimate.slots
            text += f", about {duration_text(added)} more"
    comparisons = f", {tests} comparisons" if tests > 1 else ""
    searches = f", of the searches {found.searches**0.5:.1f}" if found.searches else ""
    return f"{text} (spread of a difference: {found.points:.1f} points{searches}, {source}{comparisons})"


def _spread(project: Project, study: Study) -> tuple[Spread | None, str]:
    """The spread of differences, and where it is from or why it is not known."""
    from dml.report.analysis.precision import pooled, spread
    from dml.report.loading import load
    from dml.snapshots import Snapshot

    own = spread(load(study, project.results / study.name, snapshot=Snapshot(project.snapshots / study.name)))
    if own is not None and own.points:
        return own, "its own results"
    found = {
        other.name: spread(load(other, Path(), snapshot=Snapshot(project.snapshots / other.name)))
        for other in _alike(project, study)
    }
    found = {name: one for name, one in found.items() if one is not None}
    known = pooled(found.values())
    if known is None or not known.points:
        datasets = ", ".join(dict.fromkeys(dataset.label for dataset in study.datasets))
        return None, f"no results of {datasets} with two methods and two seeds yet"
    return known, f"published results of {', '.join(found)}"


def _alike(project: Project, study: Study) -> Iterator[Study]:
    """Published studies with the same objective, of datasets that this study has, and of no other."""
    from dml.config import load_study

    labels = {dataset.label for dataset in study.datasets}
    for name in project.names():
        if (project.snapshots / name).is_dir() and name != study.name:
            other = load_study(project.file(name))
            if other.search.objective == study.search.objective and {d.label for d in other.datasets} <= labels:
                yield other


TPE = "(tpe: each follows the results of those before)"
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
    """Raise a ValueError if a person's file is where a stage of these studies writes.

    Parameters
    ----------
    audited : studies that a person asks to audit, beside those with a section `audit`.
    """
    from dml.config import load_study
    from dml.own_files import check

    audits = [name for name in names if name in audited or load_study(project.file(name)).audit is not None]
    check(project.root, names, ["report", *(f"audit/{name}" for name in audits)])


def print_costs(project: Project, names: list[str], runs: bool = False) -> None:
    """Print what studies cost, and their sum.

    Parameters
    ----------
    runs : they run next, so that a cluster has to answer.

    Raises
    ------
    ValueError : a study cannot run, as `dml.sweep.inputs.checking` finds; or not on this machine, said after its cost.
    """
    from dml.config import load_study, place_of
    from dml.config.for_use import budget_text, explained, one_search
    from dml.sweep.cost import AROUND, duration_text
    from dml.sweep.execution import cluster
    from dml.sweep.execution.cluster import check_machine

    found, problems = [], []
    with chdir(project.root):  # paths in studies are relative to it
        for name in names:
            file = project.file(name).relative_to(project.root)
            estimate = cost(project, name, SECONDS / len(names))
            study = load_study(file)
            limit = f"  intervals: of {one}" if (one := one_search(study)) and len(study.blocks) > 1 else ""
            tuning = f"  tuning: {budget_text(study).replace('(tpe)', TPE)}"
            lines = [*estimate.lines(), tuning, tells_apart(project, name, estimate), limit]
            lines += [*(f"  note: {text}" for text in explained(study)), *_shared_starts(project, study)]
            print("\n".join(filter(None, [*lines, *_data_notes(project, study)])), flush=True)
            found.append(estimate)
            has_snapshot = (project.snapshots / name).is_dir()  # then nothing may be left to train
            try:
                if estimate.stored < estimate.trials and not has_snapshot:
                    check_machine(study.resources, study.training.workers)
                    if runs:
                        cluster.check()
            except (ValueError, ConnectionError) as error:
                problems.append(f"{place_of(file, 'resources')}: {error}")
    known = [estimate.seconds for estimate in found if estimate.seconds is not None]
    if len(found) > 1 and known:
        about = "about" if len(known) == len(found) else "more than"
        print(f"together: {sum(one.trials for one in found)} trials, {about} {duration_text(sum(known) + AROUND)}")
    if problems:
        raise ValueError("\n".join(problems))


def _shared_starts(project: Project, study: Study) -> Iterator[str]:
    """A line for each study of `training.init_from` that lacks seeds: all of these start from its first model.

    One whose file is gone, or is invalid by now, is left out: its models can be here all the same.
    """
    from dml.config import load_study
    from dml.counting import counted
    from dml.sweep.store.init_from import starts_of

    for name in dict.fromkeys(str(start.study) for start in starts_of(study)):
        try:
            earlier = load_study(project.file(name)).seeds
        except ValueError:
            continue
        shared = len(set(study.seeds) - set(earlier))
        if shared and len(study.seeds) > 1:
            yield (
                f"  starts: {counted(shared, 'seed')} of {len(study.seeds)} from the first model of {name}, which has "
                f"seeds {', '.join(map(str, earlier))} alone: intervals leave out how starts differ"
            )


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
    """What a study costs.

    Parameters
    ----------
    seconds : to spend on timing.

    Raises
    ------
    ValueError : the study cannot run: a file that it names is missing, or it does not fit its images.
    """
    from dml.config import check_data, check_files, load_study
    from dml.files import read_json
    from dml.sweep.cost import estimate, is_prepared
    from dml.sweep.inputs.checking import check as check_prepared
    from dml.sweep.store.init_from import InitFromFinder, snapshot_outcomes

    study, root = load_study(project.file(name)), project.data(name)
    file = project.file(name).relative_to(project.root)
    check_files(study, file)
    if is_prepared(study, root):
        check_prepared(study, root, file, InitFromFinder(project.results, project.store))
    else:
        packed = read_json(root / "pack.json") or {}
        check_data(study, file, packed)
    return estimate(study, root, project.store, project.results, snapshot_outcomes(project.snapshots), seconds)
