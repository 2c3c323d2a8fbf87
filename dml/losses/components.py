"""The first principal components of the features: a baseline in closed form, not a loss. Labels are not used.

`dml.training.closed_form` has the equations.

K. Pearson, On lines and planes of closest fit to systems of points in space, Philosophical Magazine 2 (1901).
"""

from __future__ import annotations

from typing import ClassVar

from dml.losses._untrained import Untrained


class Components(Untrained):
    """No parameters but `normalize`, which has no effect."""

    closed_form: ClassVar[str] = "components"
