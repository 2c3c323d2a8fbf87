"""Linear discriminant analysis of the features, by the observed classes: a baseline in closed form, not a loss.

`dml.training.closed_form` has the equations. The shrinkage is chosen on held-out training classes.

R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936).
"""

from __future__ import annotations

from typing import ClassVar

from dml.losses._untrained import Untrained


class Lda(Untrained):
    """No parameters but `normalize`, which has no effect."""

    closed_form: ClassVar[str] = "lda"
