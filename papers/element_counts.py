"""Counts the elements of the tensors that a computation makes: its work and its memory, the same in every run."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode


class Made(TorchFunctionMode):
    """Inside a `with`, counts what operations return.

    Attributes
    ----------
    total : elements of all tensors. largest : of the largest of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = self.largest = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for item in made if isinstance(made, tuple | list) else [made]:
            if isinstance(item, Tensor):
                self.total += item.numel()
                self.largest = max(self.largest, item.numel())
        return made
