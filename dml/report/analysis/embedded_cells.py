"""Which cells the figures of embeddings show, and their embeddings as evaluation compares them."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from dml import files
from dml.counting import counted
from dml.report.labels import SETS, is_topline, noise_name, readable, value_label
from dml.report.methods import further, setting_labels
from dml.report.numbers import rate
from dml.report.results import Results
from dml.types import Cell, ScoreKey

MOST = 6  # cells of a dataset


@dataclass(frozen=True)
class Shown:
    """Some cells of one dataset, each by its first trial that saved its embeddings."""

    figure: str  # its name in `report.figures`, or `planes`
    dataset: str
    keys: Mapping[str, str]  # cell -> key of the trial
    left_out: int  # cells that would be shown if there were space
    where: str  # `, on cub200, 20% noise`: what a caption adds
    shared: str  # `triplet, embedding size 4`: what all shown cells have in common, which their titles leave out

    @property
    def note(self) -> str:
        """What a caption says about the choice."""
        shared = f"All methods here: {self.shared}. " if self.shared and len(self.keys) > 1 else ""
        if not self.left_out:
            return f"{shared}First seed of each method."
        left_out = f"{counted(self.left_out, 'cell')} not shown"
        return f"{shared}First seed of each method; {left_out}."


def shown(results: Results, figure: str, most: int = MOST) -> list[Shown]:
    """For each dataset, the first cells with kept embeddings, of its first noise model and rate.

    Parameters
    ----------
    figure : a name of `report.figures`; of a snapshot, only cells with this figure are shown.
    """
    return _first(results, figure, most, lambda name: True)


def planes(results: Results, most: int) -> list[Shown]:
    """The same of two-dimensional embeddings."""

    def two(name: str) -> bool:
        return results.study.training_of(results.cells[name]).embedding_size == 2

    return _first(results, "planes", most, two)


def _first(results: Results, figure: str, most: int, suits: Callable[[str], bool]) -> list[Shown]:
    found = []
    named = [cell for cell in results.cells.values() if suits(cell.name)]
    for dataset in dict.fromkeys(cell.dataset for cell in named):
        cells = [cell for cell in named if cell.dataset == dataset]
        cells = [cell for cell in cells if cell.noise_level == cells[0].noise_level]
        keys = {cell.name: results.embedded(cell.name, figure) for cell in cells}
        kept = {name: key for name, key in keys.items() if key is not None}
        if kept:
            chosen = dict(list(kept.items())[:most])
            where = _where(results, [results.cells[name] for name in chosen])
            found.append(Shown(figure, dataset, chosen, len(kept) - len(chosen), where, _shared(results, list(chosen))))
    return found


def parts_of(results: Results, name: str) -> dict[str, str]:
    """What the name of a cell can contain, by what it is about."""
    cell, method, labels = results.cells[name], results.methods[name], setting_labels(results.varied)
    found = {"loss": readable(method.loss)}
    if method.positives:
        found["positives"] = f"{readable(method.positives)} positives"
    if method.negatives:
        found["negatives"] = readable(method.negatives) + (" negatives" if method.positives else "")
    own = further(cell)
    found |= {key: f"{labels[key]} {value_label(own[key])}" for key in results.varied if key in own}
    level = f"{rate(cell.rate)} left out" if is_topline(cell.noise) else results.level(*cell.noise_level)
    return found | {"noise": noise_name(cell.noise), "rate": level}


def _shared(results: Results, names: list[str]) -> str:
    """The parts of the names that all of these cells have in common, without the noise."""
    parts = [parts_of(results, name) for name in names]
    same = [key for key, text in parts[0].items() if all(own.get(key) == text for own in parts)]
    return ", ".join(parts[0][key] for key in same if key not in ("noise", "rate"))


def _where(results: Results, cells: list[Cell]) -> str:
    text = results.where(cells[0].dataset, cells[0].noise)
    several = len({cell.rate for cell in results.cells.values()}) > 1
    return text + (f", {results.level(*cells[0].noise_level)}" if several and len({c.rate for c in cells}) == 1 else "")


def vectors(results: Results, cell: str, content: Mapping[str, np.ndarray]) -> np.ndarray:
    """Kept embeddings (n, D) float32, of unit length if the study normalises them."""
    points = np.asarray(content["embeddings"], dtype=np.float32)
    if not results.study.training_of(results.cells[cell]).normalize:
        return points
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)


def level_of(results: Results, dataset: str) -> str:
    """The level of the labels by which the study's objective is measured."""
    return ScoreKey.parse(results.objective(dataset)).level


def sets_of(results: Results, shown: Shown) -> list[str]:
    """The sets of the shown trials' embeddings, new classes first."""
    if results.figures.snapshot is not None:
        found = {part for key in shown.keys.values() for part in results.figures.sets(shown.figure, key)}
    else:
        found = {str(part) for key in shown.keys.values() for part in np.unique(results.embeddings(key)["set"])}
    order = list(SETS)
    return sorted(found, key=lambda part: order.index(part) if part in order else len(order))


Value = TypeVar("Value")
VALUE = "value.pickle"


def kept(folder: Path | None, compute: Callable[[], np.ndarray], what: str, *inputs: np.ndarray) -> np.ndarray:
    """What `compute` returns, from `folder` if it has been computed before.

    The file's name is a digest of `what` and `inputs`, so nothing in the folder is ever out of date, and all of it can
    be deleted.

    Parameters
    ----------
    folder : None: nothing is kept.
    what : the name and version of the computation and all of its settings.
    inputs : all arrays that it depends on.
    """
    if folder is None:
        return compute()
    digest = hashlib.sha256(what.encode())
    for array in inputs:
        digest.update(f"/{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    path = folder / f"{digest.hexdigest()[:24]}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError):  # missing or broken
        found = compute()
    with files.replacing(path) as temporary, open(temporary, "wb") as file:
        np.save(file, found)
    return found


def is_made(folder: Path | None, digest: str) -> bool:
    """Whether `made` has kept something made from inputs of this digest."""
    return folder is not None and (folder / digest / VALUE).is_file()


def made(folder: Path | None, digest: str, root: Path, make: Callable[[Path], Value]) -> Value:
    """What `make` returns, its files copied below `root`; both from `folder` if they are kept there.

    Parameters
    ----------
    folder : None: nothing is kept. Else only the last digest is.
    make : called with the folder for its files.
    """
    if folder is None:
        return make(root)
    own = folder / digest
    if not is_made(folder, digest):
        shutil.rmtree(folder, ignore_errors=True)
        (own / "files").mkdir(parents=True)
        value = make(own / "files")
        with files.replacing(own / VALUE) as temporary:  # last: without it, nothing is kept
            temporary.write_bytes(pickle.dumps(value))
    shutil.copytree(own / "files", root, dirs_exist_ok=True)
    return pickle.loads((own / VALUE).read_bytes())
