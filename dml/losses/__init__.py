"""Losses: one file each. `build("triplet", margin=0.2)` makes one; `loss(embeddings, labels, tuples)` is a scalar.

What the tuples may be is said in `_forms.py`; how values and gradients are computed in one pass, in `_geometry.py`.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from dml import discovery


def build(name: str, **settings: Any) -> nn.Module:
    """A loss by its name here (`"margin"`), or by a dotted path (`"pytorch_metric_learning.losses.CircleLoss"`).

    Parameters
    ----------
    name : one of `discovery.names("dml.losses")`, or a dotted path to a class of another package.
    settings : that loss's own settings; its file lists them.

    Raises
    ------
    ValueError : no such loss, a setting that it does not take, or a value that it refuses.
    """
    return discovery.build("dml.losses", name, **settings)
