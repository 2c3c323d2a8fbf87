"""The project that a command works in: the folder with the pipeline, the studies and the results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dml.papers import papers, use_project

MARKS = ("dvc.yaml", "params.yaml", "pipelines/studies")
INTERRUPTED = 130  # the exit code after Ctrl-C
REPRO = "dml.pipeline.repro"
GROUP = "paper-"  # `paper-eps` stands for the studies of a paper


@dataclass(frozen=True)
class Project:
    """A project's folders. The stages of `dvc.yaml` use the same ones."""

    root: Path

    @property
    def studies(self) -> Path:
        """The folder of study files."""
        return self.root / "pipelines" / "studies"

    @property
    def store(self) -> Path:
        """Raw files, packed images and trials."""
        return self.root / "store"

    @property
    def results(self) -> Path:
        """One folder per study that was swept."""
        return self.root / "results"

    @property
    def snapshots(self) -> Path:
        """The folder with a snapshot of each published study."""
        return self.root / "docs" / "results"

    def data(self, study: str) -> Path:
        """The outputs of a study's data stages."""
        return self.root / "data" / study

    def file(self, study: str) -> Path:
        """A study's file."""
        return self.studies / f"{study}.yaml"

    def names(self) -> list[str]:
        """The names of all studies."""
        from dml.files import study_files

        return [path.stem for path in study_files(self.studies)]

    def chosen(self) -> list[str]:
        """The studies that params.yaml lists."""
        from dml.files import listed

        return listed(self.root / "params.yaml")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of those that change params.yaml, which the stages of a run read until the end."""
        from dml.files import locked

        def say() -> None:
            studies = ", ".join(self.chosen())
            print(f"Waiting for the `dml run` of {studies} in this project. Ctrl-C gives up.", flush=True)

        with locked(self.store / "run.lock", on_wait=say):
            yield

    def repro(self, *arguments: str, verbose: bool = False) -> None:
        """Run `dvc repro` with these arguments, as `run` does. DVC's own lines are in `store/dvc.log`, or `verbose`.

        DVC empties `dvc.lock` before it writes it, and refuses one that a stopped DVC left empty: that is removed.
        """
        lock = self.root / "dvc.lock"
        if lock.is_file() and not lock.stat().st_size:
            lock.unlink()
        self.run("-m", *(("dvc", "repro") if verbose else (REPRO,)), *arguments)

    def run(self, *command: str, check: bool = True) -> int:
        """Run a Python program of the project, such as `-m dml.pipeline report`, and wait for it.

        A module in the project's folder, such as `random.py`, hides none of Python's. Ctrl-C reaches the program, which
        may need time to stop its workers; SIGTERM does what Ctrl-C does.
        """
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # `python` in dvc.yaml
        interrupts: list[int] = []
        started: list[int] = []

        def interrupt(number: int, frame: Any) -> None:
            interrupts.append(number)
            if number == signal.SIGTERM:
                for pid in started:
                    _interrupt(pid)

        variables = {**os.environ, "PATH": path}
        if not {"dvc", REPRO} & set(command):  # whose stages may be a user's scripts, which import what is beside them
            variables["PYTHONSAFEPATH"] = "1"
        # before the program starts: it would ignore SIGINT for ever where a script started this one with `&`
        before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with subprocess.Popen([sys.executable, "-P", *command], cwd=self.root, env=variables) as program:
                started.append(program.pid)
                if signal.SIGTERM in interrupts:
                    _interrupt(program.pid)
                code = program.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if check and code:
            raise typer.Exit(INTERRUPTED if interrupts else 1)
        return code


def _interrupt(pid: int) -> None:
    """Send SIGINT to a process and all that Ctrl-C in a terminal would reach below it: those of this process' group."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        for process in (first, *first.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getpgid(process.pid) == os.getpgrp():
                    process.send_signal(signal.SIGINT)


def study_names() -> list[str] | None:
    """The studies of the project that the working directory is in; None outside of one."""
    try:
        return find_project().names()
    except ValueError:
        return None


def find_project(start: Path | None = None) -> Project:
    """The project that a folder is in; None: the working directory. Modules in its folder can then be imported."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if all((folder / mark).exists() for mark in MARKS):
            if str(folder) not in sys.path:
                sys.path.append(str(folder))  # studies name parts of the project's own
            use_project(folder)
            return Project(folder)
    raise ValueError(
        f"{here} is not in a project: expected a folder with {', '.join(MARKS[:-1])} and {MARKS[-1]}, here or above. "
        "`dml init` writes one into a folder, and a clone of dml's repository is one"
    )


def studies_of(project: Project, names: list[str]) -> list[str]:
    """The studies that names stand for, each once: `paper-eps` stands for a paper's studies that ask for no GPU."""
    return list(dict.fromkeys(study for name in names for study in _studies_of(project, name)))


def groups() -> list[str]:
    """The names that stand for the studies of a paper, such as `paper-eps`."""
    return [GROUP + paper.name for paper in papers()]


def check_name(project: Project, study: str) -> None:
    """Raise a ValueError if there is no such study, before anything heavy is imported."""
    from dml.discovery import suggestion

    if study not in project.names():
        raise ValueError(f"{study!r}: no such study{suggestion(study, project.names())}")


def _studies_of(project: Project, name: str) -> list[str]:
    from dml.discovery import suggestion

    studies, name = project.names(), stem(name)
    if name in studies:
        return [name]
    if name not in groups():
        place = os.path.relpath(project.file(name), project.root)
        raise ValueError(f"{place}: no such study or group{suggestion(name, [*groups(), *studies])}")
    from dml.config import load_study

    paper = name.removeprefix(GROUP)
    loaded = [load_study(project.file(study)) for study in studies if study.startswith(f"{paper}-")]
    names = [study.name for study in loaded if study.resources.device == "cpu"]
    if not names:
        raise ValueError(f"{name}: expected a study whose name begins with {paper}- and that runs without a GPU")
    return names


def valid(project: Project, names: list[str]) -> list[str]:
    """The studies that names stand for, after a look at their files."""
    from dml.config import load_study

    chosen = studies_of(project, names)
    for study in chosen:
        load_study(project.file(study))
    if chosen != names:
        print(f"{len(chosen)} studies: {', '.join(chosen)}")
    return chosen


def chosen_before(project: Project) -> list[str]:
    """The studies that params.yaml lists, which all have a file."""
    for name in project.chosen():
        if not project.file(name).is_file():
            raise ValueError(f"params.yaml names {name!r}, which has no file: remove it there, or run another study")
    return project.chosen()


def write_chosen(project: Project, studies: list[str]) -> None:
    """Write a list of studies into params.yaml. Other settings stay, and comments at its head."""
    import yaml

    from dml.files import write_text, yaml_text

    params = project.root / "params.yaml"
    text = params.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    others = content if isinstance(content, dict) else {}
    quoted = yaml_text(studies) != yaml.safe_dump(studies)  # in a list of one's own they may lack quotes
    if quoted or studies != others.get("studies"):
        head = [line for line in text.splitlines() if line.startswith("#")]
        write_text(params, "\n".join([*head, yaml_text({**others, "studies": studies})]))


def _complete(incomplete: str) -> list[str]:
    try:
        return [name for name in find_project().names() if name.startswith(incomplete)]
    except (ValueError, OSError):
        return []


def stem(study: str) -> str:
    """A study's name, of it or of its file."""
    return Path(study).stem if study.endswith(".yaml") else study


def study_argument(**settings: Any) -> Any:
    """An argument that names a study, which the shell completes."""
    return typer.Argument(autocompletion=_complete, parser=stem, **settings)


StudyName = Annotated[str, study_argument(metavar="STUDY", help="A study or its file in pipelines/studies.")]
