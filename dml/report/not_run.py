"""What the site's page of results lists as not run: the studies without a snapshot, with their commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from dml.files import study_files
from dml.report.page.blocks import Folded, Paragraph
from dml.report.page.markdown import Heading, Items, MarkdownBlock
from dml.report.texts import Texts

say = Texts(__file__)

TIME = r"([Aa]bout \d+ (?:minutes|hours?) on two cores|A GPU, about \d+ hours?)"


def not_run(studies: Path, snapshots: Sequence[str]) -> Iterator[MarkdownBlock]:
    """The list, under its heading; nothing if all have a snapshot.

    Parameters
    ----------
    studies : the folder of study files.
    snapshots : names of the studies that have one.
    """
    if rows := tuple(_rows(studies, set(snapshots))):
        yield Heading(2, "Not run")
        yield Paragraph(say("none", studies=len(rows)))
        yield Folded("The list, with commands", (Items(rows),))


def _rows(studies: Path, snapshots: set[str]) -> Iterator[str]:
    for path in study_files(studies):
        if path.stem in snapshots:
            continue
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        time = re.findall(TIME, " ".join(str(content.get("description", "")).split()))
        often = f" ({time[-1][:1].lower() + time[-1][1:]})" if time and time[-1].startswith("About") else ""
        often = often or (f" ({time[-1]})" if time else "")
        yield f"`make repro STUDY={path.stem}`{often}: {content.get('title', path.stem)}"
