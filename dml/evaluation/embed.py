"""Embedding a data set: batch by batch into one array on the device, used again at every evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Embedder:
    """Fills an array of embeddings, float32 (n, D), on a device; `reset` empties it without giving it back.

    Parameters
    ----------
    model : images (b, ...) -> embeddings (b, D); if a module, it runs in evaluation mode and is left as it was.
    count : rows of the array.
    device : where the array lies and the batches are moved to.
    precision : `float32`, or `bfloat16` or `float16` by autocast; the array is float32 in either case.

    Raises
    ------
    ValueError : an unknown precision, a negative count.
    """

    def __init__(
        self,
        model: Callable[[Tensor], Tensor],
        count: int,
        device: torch.device | str = "cpu",
        precision: str = "float32",
    ) -> None:
        if precision not in PRECISIONS:
            raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
        if count < 0:
            raise ValueError(f"count: expected at least 0, got {count}")
        self.model, self.count, self.device, self.precision = model, count, torch.device(device), precision
        self.filled = 0
        self._array: Tensor | None = None

    def reset(self) -> None:
        """Start again at row 0, for the next evaluation."""
        self.filled = 0

    @torch.no_grad()
    def add(self, images: Tensor) -> None:
        """Embed one batch into the next rows. No device-host synchronisation.

        Raises
        ------
        ValueError : more rows than `count`, or a model that returns something else than (b, D).
        """
        if self.filled + len(images) > self.count:
            raise ValueError(f"embed: {self.filled + len(images)} rows, expected {self.count} in all")
        modules = list(self.model.modules()) if isinstance(self.model, torch.nn.Module) else []
        modes = [module.training for module in modules]  # each its own: a batch norm may be frozen
        for module in modules:
            module.training = False
        try:
            kind = PRECISIONS[self.precision]
            with torch.autocast(self.device.type, dtype=kind, enabled=kind is not None):
                result = self.model(images.to(self.device, non_blocking=True))
        finally:
            for module, mode in zip(modules, modes, strict=True):
                module.training = mode
        if result.ndim != 2 or len(result) != len(images):
            raise ValueError(f"embed: expected ({len(images)}, D) from the model, got {tuple(result.shape)}")
        if self._array is None:
            self._array = torch.empty(self.count, result.shape[1], device=self.device)
        self._array[self.filled : self.filled + len(images)] = result
        self.filled += len(images)

    @property
    def embeddings(self) -> Tensor:
        """The rows, float32 (count, D), on the device; a view that the next evaluation overwrites.

        Raises
        ------
        ValueError : rows are missing.
        """
        if self._array is None or self.filled != self.count:
            raise ValueError(f"embed: {self.filled} rows of {self.count} are there")
        return self._array


def embed(
    model: Callable[[Tensor], Tensor],
    batches: Iterable[Tensor],
    count: int,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> Tensor:
    """All batches through a model: float32 (count, D) on `device`. See `Embedder`."""
    embedder = Embedder(model, count, device, precision)
    for images in batches:
        embedder.add(images)
    return embedder.embeddings
