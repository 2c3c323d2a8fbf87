"""A backbone's weights from a file: safetensors, or a `.pth` or `.pt` that torch reads without running its code."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dml import files

SUFFIXES = (".safetensors", ".pth", ".pt")
COMPILED, PARALLEL = "_orig_mod.", "module."
PREFIXES = (COMPILED, PARALLEL, COMPILED)  # saved from `torch.compile`, from `DistributedDataParallel`, or from both
WRAPPERS = ("state_dict", "model")  # keys under which training programs save the weights beside other things
SHOWN = 3  # tensors that a message names

State = dict[str, Tensor]
WeightsFile = str | Mapping[str, str]
"""A path; or `{path, sha256}`, as `resolve` returns it."""


def resolve(path: Any) -> dict[str, str]:
    """The absolute path and the SHA-256 of a file of weights: `{path, sha256}`. Raises ValueError."""
    file = Path(path["path"] if isinstance(path, Mapping) else path)
    if file.suffix not in SUFFIXES:
        raise ValueError(f"weights: {file}: expected a file whose name ends with {', '.join(SUFFIXES)}")
    if not file.is_file():
        raise ValueError(f"weights: {file}: no such file (from {Path.cwd()})")
    return {"path": str(file.resolve()), "sha256": files.sha256(file)}


def load(
    network: nn.Module,
    weights: WeightsFile,
    removed: Sequence[str] = (),
    adapt: Callable[[State], State] = lambda state: state,
) -> None:
    """Give a network the weights in a file. All of them must fit. Raises ValueError."""
    path, digest = resolve(weights).values()
    if isinstance(weights, Mapping) and digest != weights["sha256"]:
        raise ValueError(f"{path}: these are not the weights that the trial was planned with: run the sweep again")
    expected, without = network.state_dict(), tuple(f"{module}." for module in removed)
    parts = {name.partition(".")[0] for name in expected}
    state = {name: weight for name, weight in read(Path(path)).items() if not name.startswith(without)}
    inside = {f"{part}.{name}": weight for part in parts for name, weight in state.items()}
    if len(parts) == 1 and not expected.keys() & state.keys() and expected.keys() & inside.keys():
        state = inside
    state = adapt(state)
    if problems := problems_of(expected, state):
        hint = ". A model of an earlier trial is loaded by training.init_from" if "head.weight" in state else ""
        raise ValueError(f"{path}: weights of another network: {'; '.join(problems)}{hint}")
    network.load_state_dict(state, strict=False)  # old files lack `num_batches_tracked`, which no result depends on


def read(file: Path) -> State:
    """The tensors in a file by name. Raises ValueError."""
    if files.is_lfs_pointer(file):
        raise ValueError(f"{file}: is a git-LFS pointer, not the file: run `git lfs pull`")
    if file.suffix == ".safetensors":
        try:
            return load_file(file)
        except (SafetensorError, OSError) as error:
            raise ValueError(f"{file}: not a safetensors file: {error}") from error
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # torch's message advises to run the file's code
        if named := re.search(r"GLOBAL (\S+)", str(error)):
            objects = f"a whole model or other objects ({named[1]}), not tensors: save `model.state_dict()`"
            raise ValueError(f"{file}: holds {objects}") from error
        raise ValueError(f"{file}: not a file of weights that can be read safely: UnpicklingError") from error
    except (RuntimeError, EOFError, OSError, ValueError, LookupError) as error:
        reason = files.first_line(error)
        raise ValueError(f"{file}: not a file of weights that can be read safely: {reason}") from error
    for name in WRAPPERS:
        if isinstance(state, Mapping) and isinstance(state.get(name), Mapping):
            state = state[name]
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise ValueError(f"{file}: expected tensors by name, as `torch.save(network.state_dict(), path)` writes them")
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): weight for name, weight in state.items()}
    return dict(state)


def problems_of(expected: State, state: State) -> list[str]:
    """How the names and shapes in a file differ from the network's."""
    missing = [repr(name) for name in expected if name not in state and not _is_count(name)]
    unexpected = [repr(name) for name in sorted(state, key=_is_count) if name not in expected]
    other = [
        f"{name!r} has the shape {tuple(state[name].shape)}, the network's {tuple(expected[name].shape)}"
        for name in expected
        if name in state and state[name].shape != expected[name].shape
    ]
    kinds = (("missing", missing), ("unexpected", unexpected), ("of another shape", other))
    return [f"{len(names)} {kind}: {_few(names)}" for kind, names in kinds if names]


def _is_count(name: str) -> bool:
    return name.endswith("num_batches_tracked")


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
