"""Loading training batches: positions are drawn, and their images are read from the packed array."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dml.protocols import Sampler


class TrainingBatch(NamedTuple):
    """One batch on the device."""

    images: Tensor  # uint8 (B / size, C, H, W): this process's share
    labels: Tensor  # int64 (B,): observed classes of the whole batch
    positions: Tensor  # int64 (B,): which training images they are of


class BatchLoader:
    """An endless sequence of batches. On a CPU a mapped batch is read in less time than a prefetching thread costs.

    `share` (rank, size): load the images of the rank-th of `size` parts of each batch. `views` draws views of images.
    """

    def __init__(
        self,
        images: Any,
        rows: np.ndarray,
        observed: np.ndarray,
        sampler: Sampler,
        device: torch.device | str,
        share: tuple[int, int] = (0, 1),
        views: torch.Generator | None = None,
    ):
        self._rank, self._size = share
        self._images, self._rows, self._observed, self._sampler = images, rows, observed, sampler
        self._device, self._views = torch.device(device), views
        self._state = self._present()
        self._pinned = self._device.type == "cuda"
        self._prefetch = self._pinned or not isinstance(images, np.ndarray)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batch-loader")  # starts with its first task
        self._pending: Future[tuple[TrainingBatch, dict[str, Any]]] | None = None

    def next(self) -> TrainingBatch:
        """The next batch."""
        host, self._state = self._pending.result() if self._pending else self._load()
        self._pending = self._thread.submit(self._load) if self._prefetch else None
        return TrainingBatch(*(tensor.to(self._device, non_blocking=True) for tensor in host))

    def _load(self) -> tuple[TrainingBatch, dict[str, Any]]:
        positions = next(self._sampler)
        rows = self._rows[np.split(positions, self._size)[self._rank]]
        read = self._images[rows] if self._views is None else self._images.random(rows, self._views)
        images = torch.from_numpy(np.ascontiguousarray(read)).permute(0, 3, 1, 2)
        batch = TrainingBatch(images, torch.from_numpy(self._observed[positions]), torch.from_numpy(positions))
        if self._pinned:
            batch = TrainingBatch(*(tensor.pin_memory() for tensor in batch))
        return batch, self._present()

    def _present(self) -> dict[str, Any]:
        state = self._sampler.state_dict()
        return state if self._views is None else {"sampler": state, "views": self._views.get_state()}

    def state_dict(self) -> dict[str, Any]:
        """The state of the sampler and of `views` after the last batch that `next` returned, whatever is prefetched."""
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None
        if self._views is not None:
            self._views.set_state(state["views"].cpu())
        self._sampler.load_state_dict(state if self._views is None else state["sampler"])
        self._state = state

    def close(self) -> None:
        """Stop the prefetching thread."""
        self._thread.shutdown(cancel_futures=True)
