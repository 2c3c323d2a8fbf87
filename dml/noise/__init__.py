"""Label noise: clean training labels in, observed labels out. Each noise model is one file.

    noisy = dml.noise.Uniform(rate=0.3).corrupt(labels, seed=0)              # NoisyLabels(observed, flipped)
    noisy = dml.noise.build("uniform", rate=0.3).corrupt(labels, seed=0)     # the same by name

Only training labels are passed in. `table` applies several models, rates and seeds to the labels of a dataset.
"""

from dml import discovery
from dml.noise._build import build
from dml.noise._table import halves, table

__all__ = ["build", "halves", "table"]

__getattr__, __dir__ = discovery.lazy(__name__)
