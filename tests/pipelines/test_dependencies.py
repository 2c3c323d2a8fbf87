"""`dvc.yaml` names each module of `dml` that a stage imports, directly or not, so that a change of it is noticed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dml import discovery

ROOT = Path(__file__).parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
CONFIG = "dml.config."  # checks a study against all rooms; the study itself is a parameter of the stage


@pytest.mark.parametrize("stage", STAGES)
def test_dvc_knows_each_module_that_a_stage_imports(stage):
    known = [ROOT / path for path in dependencies(stage)]
    missing = sorted(str(f.relative_to(ROOT)) for f in closure(stage) if not any(f.is_relative_to(k) for k in known))
    assert not missing, f"dvc.yaml: {stage} should depend on them, or on their folders"


@pytest.mark.parametrize("stage", STAGES)
def test_each_dependency_exists(stage):
    missing = [path for path in dependencies(stage) if not (ROOT / path).exists() and path != "results"]
    assert not missing


FILES = (
    "dml/data/__init__.py",
    "dml/data/_members.py",
    "dml/data/class_splits.py",
    "dml/data/splits.py",
    "dml/training/data.py",
    "dml/training/train_sample.py",
)


@pytest.mark.parametrize("stage", STAGES)
def test_dependencies_are_whole_folders_so_that_a_new_file_is_covered(stage):
    files = [path for path in dependencies(stage) if path.startswith("dml/") and path.endswith(".py")]
    assert all(path.count("/") == 1 or path in FILES for path in files), files


def dependencies(stage: str) -> list[str]:
    described = STAGES[stage]
    return [path for path in described.get("do", described)["deps"] if "{" not in path]


def closure(stage: str) -> set[Path]:
    """The files of the modules of `dml` that a stage imports, directly or not."""
    found: set[str] = set()
    ahead = list(imports(ROOT / f"pipelines/{stage}.py"))
    while ahead:
        module = ahead.pop()
        if module in found or module == "dml" or (module + ".").startswith(CONFIG):
            continue
        found.add(module)
        ahead += [module.rpartition(".")[0], *imports(file_of(module))]
        if module in discovery.KINDS:  # its parts are imported by name
            ahead += [f"{module}.{name}" for name in discovery.modules(module)]
    return {file_of(module) for module in found if has_code(file_of(module))}


def has_code(path: Path) -> bool:
    """Whether a file has more than a docstring."""
    return any(not isinstance(node, ast.Expr) for node in ast.parse(path.read_text(encoding="utf-8")).body)


def imports(path: Path) -> Iterator[str]:
    """The modules of `dml` that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if exists(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and exists(node.module):
            yield node.module
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in names if exists(name))


def exists(module: str) -> bool:
    return module.split(".")[0] == "dml" and file_of(module).is_file()


def file_of(module: str) -> Path:
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
