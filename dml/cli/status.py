"""`dml status`: how far sweeps are."""

from __future__ import annotations

from typing import Annotated

import typer

from dml.cli.project import find_project

SECONDS = 2.0  # between two looks


def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep showing it, until Ctrl-C.")] = False,
) -> None:
    """Show the progress of sweeps, also while they run in another shell, and of those in a study's resources.storage.

    [bold]Examples[/bold]: dml status · dml status --watch
    """
    project = find_project()
    store = project.store

    from dml.sweep.progress.status import describe, live
    from dml.sweep.store.storages import storages_of

    storages = storages_of(project.studies)
    if watch:
        live(store, SECONDS, storages)
    else:
        print("\n".join(describe(store, storages)) or f"no sweep has run in {store}")
