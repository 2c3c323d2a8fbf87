"""The version of the code that decides a trial's result, taken from the code itself.

A trial's key must change when a loss is corrected, or an old result would pass for a new one, and must not change when
another loss is. So the version is a hash of just the modules that a trial runs: its loop, its parts, and whatever of
`dml` these import. Comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import torch

LOOP = "dml.training.loop"
WEIGHTS = {"dml.models.torchvision": "torchvision", "dml.models.timm": "timm"}  # packages that choose the weights


@cache
def version(parts: tuple[str, ...]) -> str:
    """The numerics version of a trial.

    Parameters
    ----------
    parts : the modules of `dml` that hold its parts (`dml.losses.triplet`, ...), and dotted paths to classes of other
        packages, which count by their package's version.

    Returns
    -------
    16 hexadecimal digits, the same on every machine with the same code and versions.
    """
    digest = hashlib.sha256(f"torch {torch.__version__.split('+')[0]}\n".encode())
    digest.update(f"faiss {importlib.util.find_spec('faiss') is not None}\n".encode())  # whose k-means NMI is of
    for backbone, package in WEIGHTS.items():
        if backbone in parts:
            digest.update(f"{package} {_package_version(package)}\n".encode())
    own = [part for part in parts if part.startswith("dml.")]
    for module in sorted(closure([LOOP, *own])):
        digest.update(f"{module} {_normalised(module)}\n".encode())
    for part in sorted(set(parts) - set(own)):
        digest.update(f"{part} {_package_version(part)}\n".encode())
    return digest.hexdigest()[:16]


def closure(modules: Iterable[str]) -> set[str]:
    """The modules, and all modules of `dml` that they import, directly or not."""
    found: set[str] = set()
    ahead = list(modules)
    while ahead:
        module = ahead.pop()
        if module not in found:
            found.add(module)
            ahead += _imports(module)
    return found


@cache
def _imports(module: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in names if name.startswith("dml.") and _file(name) is not None)


@cache
def _file(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _tree(module: str) -> ast.Module:
    path = _file(module)
    assert path is not None, f"{module} is not a module of dml"
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _normalised(module: str) -> str:
    tree = _tree(module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _package_version(dotted: str) -> str:
    package = dotted.split(".", 1)[0]
    distributions = importlib.metadata.packages_distributions().get(package, [])
    return ",".join(f"{name}=={importlib.metadata.version(name)}" for name in sorted(set(distributions))) or "unknown"
