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
    check_suffix(file)
    if not file.is_file():
        raise ValueError(f"weights: {file}: no such file (from {Path.cwd()})")
    return {"path": str(file.resolve()), "sha256": files.sha256(file)}


def check_suffix(path: Path) -> None:
    """Raise a ValueError unless the file's name is that of a file of weights."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"weights: {path}: expected a file whose name ends with {', '.join(SUFFIXES)}")


def load(
    network: nn.Module,
    weights: WeightsFile,
    removed: Sequence[str] = (),
    adapt: Callable[[State], State] = lambda state: state,
) -> None:
    """Give a network the weights in a file. All of them must fit. Raises ValueError."""
    found = resolve(weights)
    if isinstance(weights, Mapping) and found["sha256"] != weights["sha256"]:
        raise ValueError(
            f"{found['path']}: these are not the weights that the trial was planned with: run the sweep again"
        )
    own = network.state_dict()
    parts = sorted({name.partition(".")[0] for name in own})
    state = {name: w for name, w in read(Path(found["path"])).items() if not _below(name, removed)}
    if len(parts) == 1 and not own.keys() & state.keys() and any(f"{parts[0]}.{name}" in own for name in state):
        state = {f"{parts[0]}.{name}": weight for name, weight in state.items()}
    state = adapt(state)
    problems = problems_of(own, state)
    if problems:
        hint = ". A model of an earlier trial is loaded by training.init_from" if "head.weight" in state else ""
        raise ValueError(f"{found['path']}: weights of another network: {'; '.join(problems)}{hint}")
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
        found = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:  # torch's message advises to run the file's code
        named = re.search(r"GLOBAL (\S+)", str(error))
        if named:
            objects = f"a whole model or other objects ({named[1]}), not tensors: save `model.state_dict()`"
            raise ValueError(f"{file}: holds {objects}") from error
        raise ValueError(f"{file}: not a file of weights that can be read safely: UnpicklingError") from error
    except (RuntimeError, EOFError, OSError, ValueError, LookupError) as error:
        reason = files.first_line(error)
        raise ValueError(f"{file}: not a file of weights that can be read safely: {reason}") from error
    for name in WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(name), Mapping):
            found = found[name]
    if not isinstance(found, Mapping) or not all(isinstance(value, Tensor) for value in found.values()):
        raise ValueError(f"{file}: expected tensors by name, as `torch.save(network.state_dict(), path)` writes them")
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in found):
            found = {name.removeprefix(prefix): weight for name, weight in found.items()}
    return dict(found)


def _below(name: str, modules: Sequence[str]) -> bool:
    return any(name.startswith(f"{module}.") for module in modules)


def problems_of(own: State, given: State) -> list[str]:
    """How the names and shapes in a file differ from the network's."""
    missing = [repr(name) for name in own if name not in given and not _is_count(name)]
    unexpected = [repr(name) for name in sorted(given, key=_is_count) if name not in own]
    other = [
        f"{name!r} has the shape {tuple(given[name].shape)}, the network's {tuple(own[name].shape)}"
        for name in own
        if name in given and given[name].shape != own[name].shape
    ]
    kinds = (("missing", missing), ("unexpected", unexpected), ("of another shape", other))
    return [f"{len(names)} {kind}: {_few(names)}" for kind, names in kinds if names]


def _is_count(name: str) -> bool:
    return name.endswith("num_batches_tracked")


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
