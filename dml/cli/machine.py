"""`dml doctor`: is everything here that studies need?"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from dml.cli.project import check_name, find_project, study_argument
from dml.sweep.execution.ping import problem


def doctor() -> None:
    """Check this machine: packages, GPU, project, disk, and the Ray cluster and MLflow server of the environment.

    The exit code is 1 if something is missing that studies need.

    [bold]Example[/bold]: dml doctor
    """
    failed = 0
    for finding in findings():
        state = "ok" if finding.ok else "missing" if finding.needed else "absent"
        print(f"{state:<8} {finding.name:<16} {finding.text}", flush=True)
        if not finding.ok and finding.remedy:
            print(f"{'':<25} -> {finding.remedy}", flush=True)
        failed += finding.needed and not finding.ok
    if failed:
        print(f"\n{failed} missing")
        raise typer.Exit(1)
    print("\neverything that studies need is here")


EXTRA = "pipeline"  # the extra of pyproject.toml with all that stages import
INSTALL = f'pip install --upgrade "noisy-dml[{EXTRA}]"; in a clone of dml\'s repository: make setup'
DISK = 5e9  # bytes that should be free
SECONDS = 3.0  # to wait for an answer


class Finding(NamedTuple):
    """The result of one check."""

    name: str
    ok: bool
    text: str
    remedy: str = ""
    needed: bool = True  # studies cannot run without it


def findings() -> Iterator[Finding]:
    """All checks, one after another."""
    yield packages()
    yield gpu()
    folder = Path.cwd()
    try:
        folder = find_project().root
        yield Finding("project", True, str(folder))
    except ValueError as error:
        yield Finding("project", False, "none here", str(error))
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free at {folder}"
    yield Finding("disk", free >= DISK, text, f"free some: expected at least {DISK / 1e9:.0f} GB (dml gc)")
    if address := os.environ.get("RAY_ADDRESS"):
        remedy = "start it (ray start --head), or unset RAY_ADDRESS to use this machine"
        why = problem(address)
        yield Finding("Ray cluster", not why, f"RAY_ADDRESS={address}: {why or 'fine'}", remedy)
    if (uri := os.environ.get("MLFLOW_TRACKING_URI", "")).startswith("http"):
        yield tracking(uri)


def packages() -> Finding:
    """What dml and its pipeline require, each with its version."""
    from packaging.requirements import Requirement

    try:
        requires = importlib.metadata.requires("noisy-dml") or []
    except importlib.metadata.PackageNotFoundError:
        return Finding("noisy-dml", False, "not installed", INSTALL)
    wrong, versions = [], []
    for requirement in map(Requirement, requires):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": EXTRA}):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            version = "missing"
        versions.append(f"{requirement.name} {version}")
        if version == "missing" or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} ({version}, expected {requirement.specifier})")
    return Finding("packages", not wrong, ", ".join(wrong or sorted(versions)), INSTALL)


def gpu() -> Finding:
    """CUDA devices; studies run without."""
    try:
        import torch
    except ImportError as error:
        return Finding("GPU", False, f"not known: {error}", needed=False)  # `packages` says what to install
    if not torch.cuda.is_available():
        return Finding("GPU", False, "none: trials train on the CPU", needed=False)
    devices = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    text = ", ".join(f"{device.name} ({device.total_memory / 1e9:.0f} GB)" for device in devices)
    return Finding("GPU", True, f"{text}, CUDA {torch.version.cuda}", needed=False)


def tracking(uri: str) -> Finding:
    """The server at `MLFLOW_TRACKING_URI`."""
    text, remedy = f"MLFLOW_TRACKING_URI={uri}", "start it (mlflow server), or unset it to use mlflow.db"
    try:
        with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=SECONDS):
            return Finding("tracking", True, f"{text} answers")
    except (OSError, ValueError) as error:  # URLError is an OSError
        return Finding("tracking", False, f"{text} does not answer ({error})", remedy)


def gc(yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False) -> None:
    """List what no study refers to any more, with its size and age, and remove it on confirmation.

    [bold]Examples[/bold]: dml gc · dml gc --yes
    """
    project = find_project()

    from dml.counting import size_text
    from dml.sweep.cost import duration_text
    from dml.sweep.disk import remove, unreferenced

    entries = sorted(unreferenced(project.root), key=lambda entry: -entry.bytes)
    if not entries:
        print("nothing to remove: studies refer to everything in store, data and results")
        return
    for entry in entries:
        age, place = f"{duration_text(entry.age_seconds)} old", os.path.relpath(entry.path, project.root)
        print(f"{size_text(entry.bytes):>8}  {age:>12}  {place}  ({entry.why})")
    total = size_text(sum(entry.bytes for entry in entries))
    if not yes:
        if not typer.confirm(f"Remove these {len(entries)} ({total})?"):
            print("nothing was removed")
            raise typer.Exit(1)
        still = {entry.path for entry in unreferenced(project.root)}  # a sweep may have begun since
        entries = [entry for entry in entries if entry.path in still]
    print(f"{size_text(remove(entries))} freed")


def sync(
    studies: Annotated[
        list[str] | None, study_argument(metavar="[STUDY]...", help="By default all that have results here.")
    ] = None,
) -> None:
    """Bring MLflow up to date with the results here, such as after its server was away. Sweeps do so by themselves.

    [bold]Examples[/bold]: dml sync · dml sync quickstart
    """
    project = find_project()
    for study in studies or ():
        check_name(project, study)
    results = (*project.results.glob("*/trials.parquet"), *project.store.glob("sweeps/*.live/trials.parquet"))
    here = {path.parent.name.removesuffix(".live") for path in results}
    names = studies or sorted(here.intersection(project.names()))
    if not names:
        print("no study has results here: dml run", file=sys.stderr)
    codes = [project.run("-m", "dml.pipeline", "sync", name, check=False) for name in names]
    if any(codes):
        raise typer.Exit(1)


def ui(
    port: Annotated[int, typer.Option(help="Of the server that is started.", min=1, max=65535)] = 5000,
    host: Annotated[str, typer.Option(help="Address that the server listens at.")] = "127.0.0.1",
) -> None:
    """Browse the runs in MLflow. Prints the address, and serves it until Ctrl-C.

    With MLFLOW_TRACKING_URI=http... a server runs already: only its address is printed.

    [bold]Examples[/bold]: dml ui · dml ui --port 5001
    """
    from dml.tracking.connection import default_uri

    uri = default_uri()
    if uri.startswith("http"):
        print(uri)
        return
    project = find_project()
    print(f"http://{host}:{port}   Ctrl-C ends the server", flush=True)
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # eight processes that nothing here uses
    project.run("-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port))
