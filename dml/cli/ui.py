"""`dml ui`: browse the runs in MLflow."""

from __future__ import annotations

import os
from contextlib import chdir
from typing import Annotated

import typer

from dml.cli.project import Project, find_project


def ui(
    port: Annotated[int, typer.Option(help="Of the server that is started.", min=1, max=65535)] = 5000,
    host: Annotated[str, typer.Option(help="Address that the server listens at.")] = "127.0.0.1",
) -> None:
    """Browse the runs in MLflow. Prints the address of each study's cells, and serves it until Ctrl-C.

    With MLFLOW_TRACKING_URI=http... a server runs already: only its address is printed.

    [bold]Examples[/bold]: dml ui · dml ui --port 5001
    """
    from dml.tracking.connection import default_uri

    uri = default_uri()
    if uri.startswith("http"):
        _print_addresses(uri, uri)
        return
    project = find_project()
    with chdir(project.root):
        _print_addresses(f"http://{host}:{port}", uri)
    print("Ctrl-C ends the server", flush=True)
    _serve(project, uri, host, port)


def _print_addresses(server: str, uri: str) -> None:
    """The pages to open: the cells of each study, or the start page if no study has runs."""
    from dml.tracking.connection import ui_addresses

    try:
        found = ui_addresses(server, uri)
    except ConnectionError as error:
        print(f"{server}   (the studies' tables are not listed: {error})")
        return
    for study, address in found.items():
        print(f"{study}: {address}")
    if not found:
        print(f"{server}   (no study has runs yet: dml run)")


def _serve(project: Project, uri: str, host: str, port: int) -> None:
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # eight processes that nothing here uses
    project.run("-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port))
