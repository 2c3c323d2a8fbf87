"""`dml ui`: browse the runs in MLflow."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dml.cli.project import Project, find_project

DEFAULT_URI = "sqlite:///mlflow.db"  # in the project's folder


def ui(
    port: Annotated[int, typer.Option(help="Of the server that is started.", min=1, max=65535)] = 5000,
    host: Annotated[str, typer.Option(help="Address that the server listens at.")] = "127.0.0.1",
) -> None:
    """Browse the runs in MLflow. Prints the address, and serves it until Ctrl-C.

    With MLFLOW_TRACKING_URI=http... a server runs already: only its address is printed.

    [bold]Examples[/bold]: dml ui · dml ui --port 5001
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI", DEFAULT_URI)
    if uri.startswith("http"):
        print(_address(uri))
        return
    project = find_project()
    print(f"{_address(f'http://{host}:{port}')}   (Ctrl-C ends it)", flush=True)
    _serve(project, uri, host, port)


def _address(server: str) -> str:
    """The page to open."""
    return server


def _serve(project: Project, uri: str, host: str, port: int) -> None:
    project.run("-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port))
