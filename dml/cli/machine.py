"""`dml doctor`: is everything here that studies need?"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

from dml.cli.project import Project, check_name, find_project, study_argument
from dml.sweep.execution.ping import problem


def doctor() -> None:
    """Check this machine: Python, packages, GPU, disk, memory, and the services that the environment names.

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
PYTHON = (3, 11)
DISK = 5e9  # bytes that should be free
MEMORY = 4e9  # bytes that a machine should have
SECONDS = 3.0  # to wait for an answer


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    name: str
    ok: bool
    text: str
    remedy: str = ""
    needed: bool = True  # studies cannot run without it


def findings() -> Iterator[Finding]:
    """All checks, one after another."""
    yield python()
    yield from packages()
    yield gpu()
    try:
        project: Project | None = find_project()
    except ValueError as error:
        project = None
        yield Finding("project", False, "none here", str(error))
    if project is not None:
        yield Finding("project", True, str(project.root))
        yield dvc(project)
    yield disk(project.root if project else Path.cwd())
    yield memory()
    if address := os.environ.get("RAY_ADDRESS"):
        yield ray(address)
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        yield tracking(uri)
    if mirror := os.environ.get("DML_MIRROR"):
        yield mirrored(mirror)


def python() -> Finding:
    """Python's version."""
    needed = ".".join(map(str, PYTHON))
    text = f"{platform.python_version()} ({sys.executable})"
    return Finding("Python", sys.version_info >= PYTHON, text, f"install Python {needed} or newer, and dml with it")


def packages() -> Iterator[Finding]:
    """What dml and its pipeline require, each with its version."""
    from packaging.requirements import Requirement

    try:
        requires = importlib.metadata.requires("noisy-dml") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("noisy-dml", False, "not installed", INSTALL)
        return
    wrong, found = [], []
    for requirement in map(Requirement, requires):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": EXTRA}):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} (missing, expected {requirement.specifier})")
            continue
        found.append(f"{requirement.name} {version}")
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} ({version}, expected {requirement.specifier})")
    yield Finding("packages", not wrong, ", ".join(wrong or sorted(found)), INSTALL)


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


def dvc(project: Project) -> Finding:
    """The DVC repository: in git, or set up to work without."""
    folder = project.root / ".dvc"
    if not folder.is_dir():
        return Finding("DVC repository", False, f"no {folder}", "dvc init, in the project's folder")
    config = folder / "config"
    if config.is_file() and "no_scm = true" in config.read_text(encoding="utf-8").lower():
        return Finding("DVC repository", True, f"{folder}, without git")
    what = "no git"
    if shutil.which("git"):
        inside = ["git", "-C", str(project.root), "rev-parse", "--is-inside-work-tree"]
        if not subprocess.run(inside, capture_output=True).returncode:
            return Finding("DVC repository", True, str(folder))
        what = f"{project.root} is not in a git repository"
    return Finding("DVC repository", False, what, "install git and run git init, or dvc config core.no_scm true")


def disk(folder: Path) -> Finding:
    """Free space where studies write."""
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free at {folder}"
    return Finding("disk", free >= DISK, text, f"free some: expected at least {DISK / 1e9:.0f} GB (dml gc)")


def memory() -> Finding:
    """The machine's memory."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    text = f"{size / 1e9:.1f} GB, {cores} CPU cores"
    return Finding("memory", size >= MEMORY, text, f"a machine with at least {MEMORY / 1e9:.0f} GB", needed=False)


def ray(address: str) -> Finding:
    """The cluster at `RAY_ADDRESS`."""
    remedy = "start it (ray start --head), or unset RAY_ADDRESS to use this machine"
    why = problem(address)
    return Finding("Ray cluster", not why, f"RAY_ADDRESS={address}: {why or 'fine'}", remedy)


def tracking(uri: str) -> Finding:
    """The server at `MLFLOW_TRACKING_URI`."""
    text = f"MLFLOW_TRACKING_URI={uri}"
    if not uri.startswith("http"):
        return Finding("tracking", True, f"{text}, no server")
    remedy = "start it (mlflow server), or unset MLFLOW_TRACKING_URI to use mlflow.db"
    return _answers("tracking", text, f"{uri.rstrip('/')}/health", remedy)


def mirrored(mirror: str) -> Finding:
    """The mirror of datasets at `DML_MIRROR`."""
    text, remedy = f"DML_MIRROR={mirror}", "mount or start it, or unset DML_MIRROR to use the public servers"
    if mirror.startswith(("http://", "https://")):
        return _reached("mirror", text, *_host(mirror, 443 if mirror.startswith("https") else 80), remedy)
    folder = unquote(urlsplit(mirror).path) if mirror.startswith("file://") else mirror
    return Finding("mirror", Path(folder).is_dir(), text, remedy)


def _host(address: str, port: int) -> tuple[str, int]:
    parts = urlsplit(address if "//" in address else f"//{address}")
    return parts.hostname or "localhost", parts.port or port


def _reached(name: str, text: str, host: str, port: int, remedy: str) -> Finding:
    try:
        socket.create_connection((host, port), timeout=SECONDS).close()
    except OSError as error:
        return Finding(name, False, f"{text}: {host}:{port} does not answer ({error})", remedy)
    return Finding(name, True, f"{text}, {host}:{port} answers")


def _answers(name: str, text: str, url: str, remedy: str) -> Finding:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS):
            return Finding(name, True, f"{text} answers")
    except (OSError, ValueError) as error:  # URLError is an OSError
        return Finding(name, False, f"{text} does not answer ({error})", remedy)


def gc(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
) -> None:
    """List what no study refers to any more, with its size and age, and remove it on confirmation.

    [bold]Examples[/bold]: dml gc · dml gc --yes
    """
    project = find_project()

    from dml.counting import size_text
    from dml.sweep.cost import duration_text
    from dml.sweep.disk import remove, unreferenced

    found = sorted(unreferenced(project.root), key=lambda entry: -entry.bytes)
    if not found:
        print("nothing to remove: studies refer to everything in store, data and results")
        return
    for entry in found:
        age, place = f"{duration_text(entry.age_seconds)} old", os.path.relpath(entry.path, project.root)
        print(f"{size_text(entry.bytes):>8}  {age:>12}  {place}  ({entry.why})")
    total = size_text(sum(entry.bytes for entry in found))
    if not yes:
        if not typer.confirm(f"Remove these {len(found)} ({total})?"):
            print("nothing was removed")
            raise typer.Exit(1)
        still = {entry.path for entry in unreferenced(project.root)}  # a sweep may have begun since
        found = [entry for entry in found if entry.path in still]
    print(f"{size_text(remove(found))} freed")


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
        return

    codes = [project.run("-m", "dml.pipeline", "sync", name, check=False) for name in names]
    if any(codes):
        raise typer.Exit(1)


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
