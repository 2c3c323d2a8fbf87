'''Losses: one file each. `build("triplet", margin=0.2)` makes one; `loss(embeddings, labels, tuples)` is a scalar.

A loss of your own begins as ten lines of plain torch; autograd does the rest. Save them as `dml/losses/cosine.py`, and
`cosine` is a name in a study, in `build` and in the contract tests:

    class Cosine(nn.Module):
        """The mean similarity of negative pairs above `margin`, less that of positive pairs."""

        version, uses_tuples, takes_padding, search_space, mining = 1, True, True, {"margin": Uniform(0, 1)}, {}

        def __init__(self, margin: float = 0.5, normalize: bool = True):
            super().__init__()
            self.margin, self.normalize, self.stats = margin, normalize, {}

        def forward(self, embeddings, labels, tuples=None):
            labels, x = checked_labels(embeddings, labels), prepared(embeddings, self.normalize)
            positives, negatives = pair_weights(labels, tuples, x.dtype)
            costs = positives * (1 - x @ x.T) + negatives * torch.relu(x @ x.T - self.margin)
            return costs.sum() / (positives + negatives).sum().clamp(min=1)

`_forms.py` describes the tuples and `pair_weights`, `_geometry.py` has `prepared` and differentiable distances,
`_settings.py` has `checked_labels`. `protocols.Loss` lists what a loss has beside `forward`. The losses here go one step
further: `_costs.py` and `_pairs.py` turn the cost of a pair into value and gradient without an N x N graph.
'''

from __future__ import annotations

from dml import discovery
from dml.losses._build import build, build_for

__all__ = ["build", "build_for"]

__getattr__, __dir__ = discovery.lazy(__name__)
