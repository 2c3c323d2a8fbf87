"""A network that starts from weights on disk: those of an earlier trial, or of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dml.files import sha256 as digest
from dml.training import checkpoint
from dml.training.model_files import WEIGHTS
from dml.types import InitFromSpec

HEAD = "head."
SHOWN = 3  # tensors that a message names


def weights_file(path: Path) -> Path:
    """The file with the weights: of a trial's `model` folder, or the file itself.

    Raises
    ------
    ValueError : there is no such file, or it is of another kind.
    """
    file = path / WEIGHTS if path.is_dir() else path
    if file.suffix not in (".safetensors", ".pt"):
        raise ValueError(f"{path}: expected a trial's `model` folder, a .safetensors file or a checkpoint (.pt)")
    if not file.is_file():
        raise ValueError(f"{file}: no such file")
    return file


def load_init_from(model: nn.Module, init_from: InitFromSpec) -> None:
    """Give a network the weights that it starts from.

    Raises
    ------
    ValueError : the file is missing, has changed since the trial was planned, or does not fit the network.
    """
    file = weights_file(Path(init_from.path))
    if digest(file) != init_from.weights:
        raise ValueError(f"{file}: these are not the weights that the trial was planned with: run the sweep again")
    fitting = fit(model.state_dict(), read_weights(file), init_from.head)
    model.load_state_dict(fitting, strict=False)


def read_weights(file: Path) -> dict[str, Tensor]:
    """The weights of a network by name, from a model or from a checkpoint.

    Raises
    ------
    ValueError : the file cannot be read, or contains no network.
    """
    if file.suffix == ".pt":
        saved: Any = checkpoint.load(file).get("model")
        if not isinstance(saved, dict):
            raise ValueError(f"{file}: not a trial's checkpoint: it has no part 'model'")
        return saved
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{file}: not a safetensors file: {error}") from error


def fit(network: Mapping[str, Tensor], weights: Mapping[str, Tensor], head: str | None = None) -> dict[str, Tensor]:
    """The weights that a network takes over.

    Parameters
    ----------
    network : the network's own weights, by name.
    weights : those that it should start from.
    head : what happens to the embedding layer: `keep`, `new`, or None: it is kept if its size fits.

    Raises
    ------
    ValueError : the backbones differ, or a head of another size should be kept.
    """
    own, given = ({name: w for name, w in state.items() if _of_backbone(name)} for state in (network, weights))
    problems = [f"it has no {name!r}" for name in own if name not in given]
    problems += [f"the network has no {name!r}" for name in given if name not in own]
    problems += _other_shapes(own, given)
    if problems:
        more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise ValueError(f"the weights are of another backbone: {'; '.join(problems[:SHOWN])}{more}")
    if head == "new":
        return given
    heads = [{name: w for name, w in state.items() if not _of_backbone(name)} for state in (network, weights)]
    if heads[0].keys() == heads[1].keys() and not _other_shapes(*heads):
        return {**given, **heads[1]}
    if head == "keep":
        sizes = [len(state[f"{HEAD}weight"]) if f"{HEAD}weight" in state else None for state in heads]
        raise ValueError(
            f"head: 'keep', but the weights have {sizes[1]} dimensions and training.embedding_size is {sizes[0]}. "
            "Choices: head: new, or the same embedding_size"
        )
    return given


def _of_backbone(name: str) -> bool:
    return not name.startswith(HEAD)


def _other_shapes(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> list[str]:
    return [
        f"{name!r} has the shape {tuple(given[name].shape)}, the network's {tuple(weight.shape)}"
        for name, weight in own.items()
        if name in given and given[name].shape != weight.shape
    ]
