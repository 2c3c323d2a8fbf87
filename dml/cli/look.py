"""`dml look`: the first look at a folder of images, a table or vectors. It needs no project and writes one page."""

from __future__ import annotations

import re
import shlex
import time
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dml.files import LONGEST_NAME

if TYPE_CHECKING:
    import numpy as np

    from dml.audit import Audit
    from dml.cli.collection import Collection
    from dml.training.free import Free, Look

Labels = Annotated[
    Path | None,
    typer.Option("--labels", metavar="TABLE", help="Of vectors: a row for each, with a column fine.", exists=True),
]
Root = Annotated[
    Path | None,
    typer.Option("--root", help="What a table's paths are relative to; by default its folder.", file_okay=False),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=OWN", help="What a table calls its column NAME, such as fine=truth."),
]
Mirror = Annotated[
    bool | None,
    typer.Option(
        "--mirror/--no-mirror", help="Whether mirror images show the same; by default if they are photographs."
    ),
]


GUESS = "How many labels are wrong is a guess, too high where classes look alike: a review measures it."


def look(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|TABLE|VECTORS",
            help="A folder of images per class, a table of images, or vectors.",
            exists=True,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page to write. [default: dml-look-NAME.html, as FOLDER]")
    ] = None,
    labels: Labels = None,
    root: Root = None,
    column: Columns = None,
    mirror: Mirror = None,
) -> None:
    """Look at images or vectors: how well searches work without training, and which labels look wrong.

    Writes one page with pictures. Needs no project, trains nothing, and changes nothing in the folder. The features are
    kept, so that dml search, and dml audit and dml new in a project, find them.

    [bold]Examples[/bold]: dml look ./photos · dml look vectors.npy --labels table.csv -o page.html
    """
    from dml.audit import look as page
    from dml.cli.search_page import check_page

    out = out or Path(f"dml-look-{study_name(place)}.html")
    check_page(out, page.mark(place), f"dml look {place}")
    from dml.cli.collection import PIXELS, collect

    def say(line: str) -> None:
        typer.echo(line, err=True)

    seen = collect(place, labels, root, columns(column), mirror, say)
    began = time.monotonic()
    say(f"looking at {counts(seen)}" + "; the page says what is left out, and why" * bool(seen.left_out))
    audit, notes = audited(seen)
    suspected = seen.codes < -1 if audit is None else audit.suspects()
    judged, best, more = without_training(seen, suspected)
    notes += [*more, *([GUESS] if audit is not None and not audit.rate.warning else [])]
    features = next(iter(seen.features)) if audit is None else audit.representation
    vectors = joined(seen)[features]
    if features == PIXELS:  # scans, or photographs of one surface, are alike but for their difference from the mean
        vectors = vectors - vectors.mean(axis=0)
    words = "" if best.chosen == page.plain(seen.features) else best_words(best, seen)
    arguments = [str(place.resolve())]
    for option, path in (("--labels", labels), ("--root", root)):
        arguments += [option, str(path.resolve())] if path else []
    arguments += [text for pair in column or [] for text in ("--column", pair)]
    flag = "" if mirror is None else " --mirror" if mirror else " --no-mirror"
    useful = audit is not None, judged is not None
    commands = next_commands(seen, shlex.join(arguments), best.chosen.features, flag, *useful, notes)
    text, found = sentence(seen, judged, best, audit), page.searches(seen.features, seen.codes, best, suspected)
    said = [counts(seen) + ".", *notes]
    shown = page.Seen(
        seen.place, seen.names, seen.labels, text, said, audit, vectors, found, seen.left_out, commands, words
    )
    page.write(out, shown, None if seen.paths is None else seen.pictures)
    say(f"looked for {time.monotonic() - began:.0f} s\n")
    print("\n".join([text, *notes, "", f"The page: {out.resolve().as_uri()}", "Next:"]))
    for what, command in commands:
        print("\n    ".join([f"  {what}", *command.splitlines()]))


def study_name(place: Path) -> str:
    """A name for files of a place: that of the place, in characters that a study's name may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", place.resolve().stem).strip("-.")[: LONGEST_NAME // 2] or "images"


def columns(pairs: list[str] | None) -> dict[str, str]:
    """The option `--column` as a mapping."""
    split = [pair.partition("=") for pair in pairs or []]
    if not all(sign and column for _, sign, column in split):
        raise typer.BadParameter(f"--column: expected NAME=OWN, such as fine=truth, got {', '.join(pairs or [])}")
    return {name: column for name, _, column in split}


def counts(seen: Collection) -> str:
    """How many images and classes there are."""
    from dml.counting import counted

    things = counted(len(seen.names), "vector" if seen.paths is None else "image")
    return f"{things} in {counted(len(set(seen.labels)), 'class')}" if seen.labelled else f"{things} without labels"


def joined(seen: Collection) -> dict[str, np.ndarray]:
    """The views of each image as one unit vector float32 (n, D), by the features' name."""
    import torch

    from dml.evaluation import joined as join

    return {name: join([*torch.from_numpy(views).unbind(1)]).numpy() for name, views in seen.features.items()}


def audited(seen: Collection) -> tuple[Audit | None, list[str]]:
    """Which labels look wrong; and what the numbers leave out, or why there are none."""
    from dml import audit

    if not seen.labelled:
        return None, []
    try:
        result = audit.audit(joined(seen), seen.labels)
    except ValueError as error:
        return None, [f"Labels are not judged: {str(error).removeprefix('audit: ')}."]
    beyond = f"Classes of one or two ({len(result.beyond)}) are not judged." if result.beyond else ""
    warning = f"How many labels are wrong cannot be told: {result.rate.warning}." if result.rate.warning else ""
    return result, [text for text in (warning, beyond) if text]


def without_training(seen: Collection, suspected: np.ndarray) -> tuple[Look | None, Free, list[str]]:
    """Scores on classes that are held out, if there are enough; the best embedding; and notes."""
    from dml.training import free

    if not seen.labelled:
        how = "A folder for each class, or a table, gives them"
        if seen.paths is None and seen.left_out:
            how = seen.left_out[0]
        return None, seen.free(), ["Without labels nothing is scored.", f"{how}."]
    try:
        look_scores = free.look(seen.features, seen.codes, suspects=suspected)
    except ValueError as error:
        return None, seen.free(), [f"Searches are not scored: {str(error).removeprefix('what is free: ')}."]
    note = (
        "A search is right if the nearest one has the same label, among classes that took no part in choosing and "
        "fitting (mean of three thirds of the classes). Labels count as they are: wrong ones lower these numbers."
    )
    return look_scores, look_scores.free, [note]


def best_words(best: Free, seen: Collection) -> str:
    """`whitened and mirrored`, after the features' name where they are not the first."""
    from dml.cli.collection import NAMES
    from dml.training.free import NO_PROJECTION, WORDS

    other = "" if best.chosen.features == next(iter(seen.features)) else f"{NAMES[best.chosen.features]} "
    words = {**WORDS, NO_PROJECTION: "", "components": "reduced to main components"}[best.chosen.projection]
    steps = " and ".join(filter(None, [words, "mirrored" * (best.chosen.views == "mirror")]))
    return other + (steps or "as they are")


def sentence(seen: Collection, judged: Look | None, best: Free, audit: Audit | None) -> str:
    """What a person wants to know first."""
    from dml.cli.collection import NAMES, PRETRAINED
    from dml.training.free import AS_THEY_ARE, CHOSEN, UNSUSPECTED

    text = f"{counts(seen)}, compared with {seen.network}"
    if judged is not None:
        plain, chosen = (judged.steps[step]["recall@1"] for step in (AS_THEY_ARE, CHOSEN))
        given = "as it is" if NAMES[PRETRAINED] == seen.network else "as they are"
        text = f"Searching new classes with {seen.network} {given} finds the right class first in {plain:.0%}"
        if (words := best_words(best, seen)) != "as they are":
            better = f" in {chosen:.0%}" if round(chosen, 2) > round(plain, 2) else f" no more ({chosen:.0%})"
            text += f", {words}{better}"
            plain = chosen  # said last
        without = judged.steps.get(UNSUSPECTED, {}).get("recall@1", 0.0)
        if f"{without:.0%}" != f"{plain:.0%}" and without > plain:
            text += f" and in {without:.0%} without those whose labels look wrong"
    if audit is not None and audit.rate.warning:
        text += "; how many of your labels are wrong cannot be told by them"
    elif audit is not None:
        share = audit.rate.guess
        text += f"; some {share:.0%} of your labels look wrong" if share >= 0.005 else "; hardly any label looks wrong"
    return f"{text}."


def next_commands(
    seen: Collection, arguments: str, best: str, flag: str, audited: bool, scored: bool, notes: list[str]
) -> list[tuple[str, str]]:
    """What to do next and how long it takes, with the commands. `flag`: of `dml search` alone. Adds to the notes."""
    from dml.cli.project import study_names
    from dml.sweep.cost import duration_text

    search = ("Search with an image of your own: seconds.", f"dml search {arguments}{flag} image.jpg")
    if seen.paths is None:
        search = ("Search with a row, by its number or text: seconds.", f"dml search {arguments} 0")
    if not audited:
        return [search]
    try:
        seconds = training_seconds(seen, best)
    except ValueError as error:  # too few classes to split, or to train on: `dml new` refuses them
        notes.append(f"A review and training need a study, and dml new refuses to write one: {error}.")
        return [search]
    stem, taken = study_name(seen.place), study_names()
    init = "dml init my-project && cd my-project\n" if taken is None else ""
    names = chain([stem], (f"{stem}-{n}" for n in count(2)))
    name = next(name for name in names if name not in (taken or ()) or _is_read_by(seen.place, name))
    new = f"{init}dml new {name} {arguments}\n" if name not in (taken or ()) else ""
    minutes = duration_text(120 + len(seen.names) / 100)
    training = f"about {duration_text(seconds)}" if seconds else "dml check says how long"
    review = f"{new}dml audit {name}"
    train = (f"Train, to see if it helps{' (after dml new)' * bool(new)}: {training}.", f"dml run {name}")
    return [(f"Review the labels: about {minutes}, then ten minutes of yours.", review), search, *[train] * scored]


def _is_read_by(place: Path, study: str) -> bool:
    """Whether the text of a study of the project names the place: `dml new` wrote it earlier."""
    from dml.cli.project import find_project

    text = find_project().file(study).read_text(encoding="utf-8", errors="replace")
    return re.search(re.escape(str(place.resolve())) + r"(?![\w./-])", text) is not None


def training_seconds(seen: Collection, best: str) -> float | None:
    """How long the study takes that `dml new` proposes by the best features; None if not known. Raises ValueError."""
    from dml.cli.proposal import PRETRAINED, in_time, propose
    from dml.data import splits
    from dml.data.survey import Survey, survey
    from dml.files import cache

    if seen.source is None:
        return None
    options = {name: value for name, value in seen.source.options.items() if value is not None}
    nowhere = cache() / "none"
    if seen.index is None:
        surveyed = survey(seen.source, seen.place)
    else:
        split = next(iter(splits.by_seed(seen.index, seen.source).values()))
        surveyed = Survey(seen.index, split, {}, (), seen.views == "one")
    settings = propose(surveyed, pretrained=best == PRETRAINED)
    return in_time("look", options, surveyed, settings, [], (nowhere, nowhere, nowhere), 1.0)[1].seconds
