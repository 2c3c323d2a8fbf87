"""`dml new`: a study of a folder of images, of a table of images, or of vectors."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from dml.cli.look import Columns, Labels, Root, columns
from dml.cli.project import find_project, groups, stem
from dml.files import LONGEST_NAME, is_study_name

if TYPE_CHECKING:
    from dml.cli.collection import Collection
    from dml.data.survey import Survey

SHOWN = 3  # names in a list of examples
NOT_NEWS = "nothing to download"  # of a folder
AUDITED = 20.0  # seconds that features for a first audit may take
FEW = 4  # images of a class, below which it is called small
LONGEST_TEXT = 60  # characters of a text that stands for a vector


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the study: letters, digits and the signs . _ -")],
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER|TABLE|VECTORS",
            help="With a folder of images per class; a CSV or Parquet file of paths; or vectors (.npy, .npz, .parquet, "
            ".csv). Without a NAME it has that of the file.",
            exists=True,
        ),
    ] = None,
    labels: Labels = None,
    root: Root = None,
    column: Columns = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a study of this name.")] = False,
) -> None:
    """Write a study of your own images or vectors, after a look at each of them.

    Shows counts, sizes, small classes, exact copies and corrupt files, and proposes a recipe, a network, image size,
    batch and steps for this machine. Labels are audited first if that takes seconds. The study is
    pipelines/studies/NAME.yaml; change it, or run it as it is.

    [bold]Examples[/bold]: dml new my-images /data/my-images · dml new my-texts vectors.npy --labels table.csv
    """
    project = find_project()
    if place is None:
        if not Path(name).exists():
            raise typer.BadParameter("expected a folder, a table or a file of vectors after the name")
        name, place = Path(name).resolve().stem, Path(name)
    if not is_study_name(name := stem(name)):
        raise typer.BadParameter(
            f"{name!r} names files: expected letters, digits and the signs . _ -, at most {LONGEST_NAME} bytes"
        )
    if name in groups():
        raise ValueError(f"{name!r} stands for the studies of a paper: choose another name")
    if name in project.names() and not force:
        raise ValueError(f"{project.file(name)} exists: choose another name, or overwrite it with --force")
    from dml.own_files import check, others

    left = project.data(name)
    check(project.root, [name], folders=())
    if strangers := [path.relative_to(left).as_posix() for path in others(left)]:
        raise ValueError(
            f"{left} is for what the stages of {name!r} write, and contains {', '.join(strangers[:3])}: choose another "
            "name, or move it, to data-of-mine/ for instance, which nothing deletes"
        )

    from dml.cli.collection import Slow, collect, download, source_of
    from dml.cli.proposal import PRETRAINED, in_time, propose, study_text
    from dml.data import sources
    from dml.data.sources._table import table_not_used
    from dml.data.survey import survey
    from dml.files import write_text
    from dml.training.data import check_pairs

    kind, options = source_of(place, labels, root, columns(column))
    if kind == "features" and "table" not in options:
        found = f" ({other})" if (other := table_not_used(place)) else ""
        raise typer.BadParameter(
            f"{place} has no labels{found}: expected --labels and a CSV or Parquet file with a row for each vector, in "
            "order"
        )
    source = sources.build(kind, **options)

    def report(line: str) -> None:
        if not line.endswith(NOT_NEWS):
            typer.echo(line, err=True)

    download(source, place, report)  # it says how it reads the folders or the table
    surveyed = survey(source, place, report=report)
    pretrained, facts = False, describe(surveyed)
    try:
        seen = collect(place, labels, root, columns(column), report=report, limit=AUDITED)
        text, best = first_audit(seen)
        pretrained = best == PRETRAINED
    except Slow as error:
        text = f"the labels are not audited yet: {error}, which `dml look` computes and keeps"
    settings = propose(surveyed, pretrained=pretrained)
    facts += [settings.why, text]
    if settings.mirror:
        facts.append("mirror images show the same, as in photographs: if yours show text, change mirror in the study")
    print("\n".join(facts), flush=True)
    for tested in settings.sets[:1]:
        check_pairs(surveyed.readable, surveyed.index["fine"].to_numpy(), tested, name)

    if left.exists():  # tables of other images, with which the estimate would count; `others` found none of people
        shutil.rmtree(left)
        typer.echo(f"deleted: {left}, which an earlier study of this name left", err=True)

    settings, expected = in_time(name, options, surveyed, settings, facts, (left, project.store, project.results))
    lines = expected.lines()
    write_text(project.file(name), study_text(name, options, surveyed, settings, [*facts, *lines]))
    print("\n".join([*lines, f"\nwritten: {project.file(name)}"]))
    print(f"audit:   dml audit {name}\nmodel:   dml refit {name} --free, which trains nothing\nnext:    dml run {name}")


def first_audit(seen: Collection) -> tuple[str, str]:
    """How many labels look wrong, and the features that find most without training, both as `dml look` finds."""
    from dml.cli.collection import NAMES
    from dml.cli.look import audited, without_training

    result, notes = audited(seen)
    suspected = seen.codes < -1 if result is None else result.suspects()
    best = without_training(seen, suspected)[1].chosen.features if len(seen.features) > 1 else next(iter(seen.features))
    if result is None:
        return notes[0].rstrip("."), best
    share = "" if result.rate.warning else f"some {result.rate.guess:.1%} of the labels look wrong (a first guess)"
    return f"an audit by {NAMES[result.representation]}: {' '.join(filter(None, [share, *notes]))}".rstrip("."), best


def describe(survey: Survey) -> list[str]:
    """What a survey found, as lines of text."""
    from dml.cli.templates import one_line
    from dml.counting import counted
    from dml.data.packing.listing import lost_classes
    from dml.data.splits import crossing

    noun, images, grey = survey.noun, len(survey.index), "grey" if survey.grey else "colour"
    per_class = survey.per_class()
    sizes = "all of one size" if survey.sizes == 1 else f"{survey.sizes} sizes"
    fewest, most = per_class.iloc[0], per_class.iloc[-1]
    each = f"{fewest} to {most} in a class" if fewest < most else f"{most} in each class"
    lines = [f"{counted(images, noun)} of {counted(len(per_class), 'class')}, {each}"]
    if survey.vectors is None:
        lines = [f"{lines[0]}; {grey}", f"{survey.side} pixels on the shorter side (median), {sizes}"]
    else:
        lines.append(f"{survey.vectors.shape[1]} numbers each")
    for role, meaning in ROLES.items():
        if len(counts := survey.per_class(role)):
            lines.append(f"{role}: {counted(counts.sum(), noun)} of {counted(len(counts), 'class')}{meaning}")
    if len(single := per_class[per_class == 1]):
        lines.append(
            f"{counted(len(single), 'class')} with a single {noun}, which has no positive: {_some(single.index)}"
        )
    if len(small := per_class[(per_class > 1) & (per_class < FEW)]):
        lines.append(f"{counted(len(small), 'class')} with fewer than {FEW} {noun}s: {_some(small.index)}")
    lines += filter(None, [survey.left_out, lost_classes(survey.index, survey.corrupt)])
    if survey.given_rate is not None:
        lines.append(f"{survey.given_rate:.1%} of the labels as given are wrong, against the verified ones")
    paths = survey.index["path"].to_numpy()
    if survey.vectors is not None:  # texts of any length
        paths = [shorten(str(path), LONGEST_TEXT, placeholder="...") for path in paths]
    if survey.corrupt:
        reasons = [f"{paths[row]} ({reason})" for row, reason in survey.corrupt.items()]
        lines.append(f"{counted(len(survey.corrupt), 'image')} cannot be decoded: {_some(reasons)}")
    if survey.copies:
        extra = sum(len(rows) - 1 for rows in survey.copies)
        examples = [f"{paths[rows[0]]} = {paths[rows[1]]}" for rows in survey.copies]
        lines.append(f"{counted(extra, 'exact copy')} of other {noun}s: {_some(examples)}")
    if survey.mislabelled:
        examples = [f"{paths[rows[0]]} = {paths[rows[1]]}" for rows in survey.mislabelled]
        lines.append(
            f"{counted(len(survey.mislabelled), noun)} in several classes, so labels are wrong: {_some(examples)}"
        )
    fine = survey.index["fine"].to_numpy()
    lines += filter(None, [crossing(survey.copies, survey.split, fine, noun)])
    return [one_line(line) for line in lines]  # names of files may contain line breaks


ROLES = {
    "train": "",
    "seen": ", classes that are trained on",
    "test": ", classes that are never trained on",
    "query": ", that search",
    "gallery": ", that are found",
}


def _some(names: Sequence[object]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more
