"""`dml init`: a project in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dml.cli.project import MARKS, Project

TEMPLATE = Path(__file__).parent / "templates" / "project"
# Their names in a project. Under those, git and DVC would take them for files of the clone that contains them.
NAMES = {"stages.yaml": "dvc.yaml", "gitignore": ".gitignore", "dvcignore": ".dvcignore"}
WRITTEN = """\
  dvc.yaml            the stages, from data to report
  params.yaml         which studies run
  pipelines/studies   one study: quickstart
  pipelines           audits, labels and weights: files of your own that studies name
  docs/results        results that you publish
  .gitignore .dvcignore .dvc\
"""
NO_GIT_YET = "No git repository here. Later: git init && dvc config core.no_scm false"
DVC = "[core]\n    analytics = false\n    check_update = false\n"
NO_GIT = "    no_scm = true\n"
DVC_IGNORED = "/config.local\n/tmp\n/cache\n"


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Created if it is missing.", file_okay=False, show_default=False)
    ] = Path(),
) -> None:
    """Write a project into a folder: the pipeline and a first study, quickstart. No clone of dml is needed.

    The other commands then work in it. A file that exists is never overwritten; a .gitignore gets the lines it lacks.

    [bold]Example[/bold]: dml init my-project && cd my-project && dml run quickstart
    """
    root = folder.resolve()
    for above in (root, *root.parents):
        if all((above / mark).exists() for mark in MARKS):
            where = "is a project already" if above == root else f"is in the project {above}"
            raise ValueError(f"{root} {where}: its studies are in {Project(above).studies}; dml --help lists commands")
    names = {path: path.relative_to(TEMPLATE).as_posix() for path in sorted(TEMPLATE.rglob("*")) if path.is_file()}
    texts = {NAMES.get(name, name): path.read_text(encoding="utf-8") for path, name in names.items()}
    gitignore = root / ".gitignore"
    present = gitignore.read_text(encoding="utf-8") if gitignore.is_file() else None
    lacking = [line for line in texts[".gitignore"].splitlines() if line not in (present or "").splitlines()]
    if present is not None:
        texts[".gitignore"] = "\n".join([present.rstrip("\n"), *lacking, ""]) if lacking else present
    git = any((above / ".git").exists() for above in (root, *root.parents))
    if not (root / ".dvc").exists():
        texts |= {".dvc/config": DVC + ("" if git else NO_GIT), ".dvc/.gitignore": DVC_IGNORED}
    if (root / ".dvcignore").exists():
        del texts[".dvcignore"]
    existing = sorted(name for name in texts if (root / name).exists() and name != ".gitignore")
    _refuse(root, "overwrite files", existing)
    _refuse(root, "write to, and hide from git, what is", _hidden(root, lacking))

    from dml.files import check_writable, write_text
    from dml.own_files import check

    check(root, ["quickstart"])
    check_writable(root / "dvc.yaml")  # its error names the folder, and nothing is half written
    for name, text in texts.items():
        write_text(root / name, text)
    print(f"A project in {root}:\n{WRITTEN}")
    if not git:
        print(NO_GIT_YET)
    enter = "" if root == Path.cwd() else f"  cd {os.path.relpath(root)}\n"
    print(f"\nnext:\n{enter}  dml run quickstart\n  dml new my-images FOLDER")


def _refuse(root: Path, what: str, names: list[str]) -> None:
    if names:
        raise ValueError(
            f"nothing was written, since a project would {what} in {root}: {', '.join(names)}. Move them away, or "
            "choose another folder: dml init FOLDER"
        )


def _hidden(root: Path, lines: list[str]) -> list[str]:
    """What exists, is not empty, and is ignored by lines that are added to .gitignore."""
    patterns = [line.strip("/") for line in lines if line.startswith(("/", "mlflow"))]
    ignored = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(path.relative_to(root).as_posix() for path in ignored if not path.is_dir() or any(path.iterdir()))
