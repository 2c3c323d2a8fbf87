'''Losses: one file each. `build("triplet", margin=0.2)` makes one; `loss(embeddings, labels, tuples)` is a scalar.

A loss of your own begins as ten lines of plain torch; autograd does the rest. Save this as `dml/losses/cosine.py`, and
`cosine` is a name in studies, in `build` and in the contract tests:

    """A cosine loss. Search space: margins that similarities of strangers reach."""

    from typing import ClassVar

    import torch
    from torch import nn

    from dml.losses._forms import pair_weights
    from dml.losses._geometry import Geometry
    from dml.losses._settings import checked_labels
    from dml.types import Uniform


    class Cosine(nn.Module):
        version, uses_tuples, takes_padding = 1, True, True
        mining: ClassVar[dict] = {}
        search_space: ClassVar[dict] = {"margin": Uniform(0.0, 0.9)}

        def __init__(self, margin=0.5, normalize=True):
            super().__init__()
            self.margin, self.normalize, self.stats = margin, normalize, {}

        def forward(self, embeddings, labels, tuples=None):
            labels = checked_labels(embeddings, labels)
            s = Geometry(embeddings, "similarity", self.normalize).attached()  # (N, N); also "euclidean", "squared"
            positives, negatives = pair_weights(labels, tuples, s.dtype)
            costs = positives * (1 - s) + negatives * torch.relu(s - self.margin)
            return costs.sum() / (positives + negatives).sum().clamp(min=1)

`_forms.py` describes the tuples, and `protocols.Loss` what a loss has beside `forward`. The losses here go one step
further: `_costs.py` and `_pairs.py` turn the cost of a pair into value and gradient without an N x N graph.
'''

from __future__ import annotations

from dml import discovery
from dml.losses._build import build, build_for, closed_form_of, own_rate_of
from dml.losses._pair_loss import Memory

__all__ = ["Memory", "build", "build_for", "closed_form_of", "own_rate_of"]

__getattr__, __dir__ = discovery.lazy(__name__)
