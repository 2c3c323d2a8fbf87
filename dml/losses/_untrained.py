"""What methods without training share: whitening, components, LDA, and the best that is free."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from dml.losses._forms import Form
from dml.types import Space


class Untrained(nn.Module):
    """Asks a trial for a head in closed form: it is fitted to the features of the training images
    once, and nothing is trained. The features are those of the study's backbone if it is pretrained or frozen, else
    pixels.

    A subclass states `closed_form`, the kind of head (`dml.training.head_start`).

    Parameters
    ----------
    normalize : has no effect.
    """

    version: ClassVar[int] = 1
    closed_form: ClassVar[str]
    uses_tuples: ClassVar[bool] = False
    per_sample: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[dict[str, Any]] = {}
    search_space: ClassVar[dict[str, Space]] = {}

    def __init__(self, normalize: bool = True):
        super().__init__()
        self.normalize = normalize
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """Raises a ValueError: there is nothing to train."""
        name = self.closed_form
        room = "free" if name == "free" else "closed_form"
        raise ValueError(
            f"{type(self).__name__} is fitted in closed form and has no value to train with: name {name!r} among the "
            f"losses of a study, or fit it to all features at once (dml.training.{room})"
        )
