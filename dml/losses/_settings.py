"""Checks of settings and inputs that the losses share."""

from __future__ import annotations

from numbers import Real

from torch import Tensor

REDUCTIONS = ("mean", "nonzero", "sum")
DISTANCES = ("euclidean", "squared")


def check_choice(setting: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{setting}: expected one of {', '.join(choices)}; got {value!r}")


def check_at_least(setting: str, value: float, low: float) -> None:
    """Raise a ValueError unless `value` is a number and `value >= low` (NaN raises too)."""
    if not isinstance(value, Real) or not value >= low:
        raise ValueError(f"{setting}: expected a number >= {low:g}; got {value!r}")


def check_above(setting: str, value: float, low: float) -> None:
    """Raise a ValueError unless `value` is a number and `value > low` (NaN raises too)."""
    if not isinstance(value, Real) or not value > low:
        raise ValueError(f"{setting}: expected a number > {low:g}; got {value!r}")


def checked_labels(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Labels as int64 (N,). Raises a ValueError unless embeddings are float (N, D) and labels integer (N,)."""
    for name, value in (("embeddings", embeddings), ("labels", labels)):
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: expected a torch.Tensor, got {type(value).__name__}")
    if embeddings.ndim != 2 or not embeddings.is_floating_point():
        raise ValueError(f"embeddings: expected float (N, D); got {embeddings.dtype} {tuple(embeddings.shape)}")
    if labels.shape != embeddings.shape[:1] or labels.is_floating_point():
        raise ValueError(
            f"labels: expected integers of shape ({embeddings.shape[0]},), one for each embedding; "
            f"got {labels.dtype} {tuple(labels.shape)}"
        )
    return labels.long()
