"""Whitening of the features by their covariance within the observed classes: a baseline in closed form, not a loss.

`dml.training.closed_form` has the equations. The shrinkage is chosen on held-out training classes.

N. Shental et al., Adjustment Learning and Relevant Component Analysis, ECCV 2002.
"""

from __future__ import annotations

from typing import ClassVar

from dml.losses._untrained import Untrained


class Whitening(Untrained):
    """No parameters but `normalize`, which has no effect."""

    closed_form: ClassVar[str] = "whitening"
