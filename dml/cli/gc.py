"""`dml gc`: remove from the store what no study refers to any more."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dml.cli.project import find_project


def gc(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
) -> None:
    """List what no study refers to any more, with its size and age, and remove it on confirmation.

    [bold]Examples[/bold]: dml gc · dml gc --yes
    """
    project = find_project()

    from dml.sweep.cost.estimate import duration_text, size_text
    from dml.sweep.retention.disk import remove, unreferenced

    found = sorted(unreferenced(project.root), key=lambda entry: -entry.bytes)
    if not found:
        print("nothing to remove: studies refer to everything in store, data and results")
        return
    for entry in found:
        age = "" if entry.age_seconds is None else f"{duration_text(entry.age_seconds)} old"
        place = f"{entry.storage}/{entry.path}" if entry.storage else os.path.relpath(entry.path, project.root)
        print(f"{size_text(entry.bytes):>8}  {age:>12}  {place}  ({entry.why})")
    total = size_text(sum(entry.bytes for entry in found))
    if not yes:
        if not typer.confirm(f"Remove these {len(found)} ({total})?"):
            print("nothing was removed")
            raise typer.Exit(1)
        still = {(entry.storage, entry.path) for entry in unreferenced(project.root)}  # a sweep may have begun since
        found = [entry for entry in found if (entry.storage, entry.path) in still]
    print(f"{size_text(remove(found))} freed")
