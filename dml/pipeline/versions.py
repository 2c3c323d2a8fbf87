"""Stage `versions`: a digest of each file that a stage imports, so that DVC runs it again when its code changes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dml.discovery import KINDS
from dml.papers import PACKAGE as PAPERS
from dml.pipeline.folders import VERSIONS, write_json
from dml.pipeline.start import STAGES

TAKES = "nothing"
PACKAGE = Path(__file__).parents[1]
THEORY = PACKAGE / "report/claims_page.py"  # imports sections of the project's papers
CONFIG = "dml.config"  # counts as a whole; the rooms that it imports to check a study do not
START = "dml.pipeline.start"  # imports a stage and `dml.config`, whatever the stage
OTHERS = (PACKAGE.name, PAPERS, "tests")  # packages in a clone's folder that are not one's own
NOT_READ = (".pyi", ".pyc", ".typed")


def run(root: Path = Path()) -> None:
    """Write the files of all stages."""
    for stage in STAGES:
        write_json(root / VERSIONS / f"{stage}.json", digests(stage, root))


def digests(stage: str, root: Path = Path()) -> dict[str, str]:
    """A digest of each file that a stage runs, by its path: `dml/...`, or that of a file in the project's folder."""
    modules = files_of(stage)
    of_papers = (root / PAPERS).rglob("*") if THEORY in modules else ()
    others = [*project_modules(root), *of_papers]
    digests = {f"dml/{path.relative_to(PACKAGE).as_posix()}": _digest(path) for path in modules}
    for path in (path for path in others if path.is_file() and path.suffix not in NOT_READ):
        digests[path.relative_to(root).as_posix()] = _digest(path)
    return digests


def project_modules(root: Path) -> Iterator[Path]:
    """The modules in the project's folder, and the files of packages there: parts of one's own may be in them."""
    yield from root.glob("*.py")
    for package in root.glob("[!_.]*/__init__.py"):
        if package.parent.name not in OTHERS:
            yield from package.parent.rglob("*.py")


def files_of(stage: str) -> set[Path]:
    """The modules that a stage imports, directly or not, and the other files of their rooms, such as templates."""
    modules: set[str] = set()
    ahead = [f"dml.pipeline.{stage}", START]
    while ahead:
        module = ahead.pop()
        if module in modules or module == "dml":
            continue
        modules.add(module)
        ahead.append(module.rpartition(".")[0])
        if module.startswith(CONFIG):
            ahead += [f"{CONFIG}.{path.stem}" for path in _file(CONFIG).parent.glob("[!_]*.py")]
        elif module != START:
            ahead += imports(_file(module))
        if module in KINDS:  # its parts are imported by name
            ahead += [f"{module}.{path.stem}" for path in _file(module).parent.glob("[!_]*.py")]
    rooms = [PACKAGE / room for room in {module.split(".")[1] for module in modules}]
    others = {path for room in rooms for path in room.rglob("*") if path.is_file() and path.suffix not in NOT_READ}
    return {_file(module) for module in modules} | {path for path in others if path.suffix != ".py"}


@cache
def imports(path: Path) -> tuple[str, ...]:
    """The modules of `dml` that a file imports when it runs; not those under `if TYPE_CHECKING`."""
    return tuple(_imports(ast.parse(path.read_bytes())))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _exists(alias.name))
    elif isinstance(node, ast.ImportFrom) and node.module and _exists(node.module):
        yield node.module
        names = (f"{node.module}.{alias.name}" for alias in node.names)
        yield from (name for name in names if _exists(name))
    elif not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
        for child in ast.iter_child_nodes(node):
            yield from _imports(child)


def _exists(module: str) -> bool:
    return module.split(".")[0] == "dml" and _file(module).is_file()


@cache
def _file(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    package = path / "__init__.py"  # a folder may remain of an earlier version, with compiled files alone
    return package if package.is_file() else path.with_suffix(".py")


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
