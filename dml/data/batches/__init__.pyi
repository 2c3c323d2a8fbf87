# Written by `python -m dml.discovery`.
from dml.data.batches.samplers import Balanced as Balanced
from dml.data.batches.samplers import Hierarchical as Hierarchical
from dml.data.batches.samplers import Random as Random
from typing import Any
import numpy as np
from dml.protocols import Sampler

def build(
    name: str,
    *,
    labels: np.ndarray,
    classes: int,
    per_class: int,
    seed: int = 0,
    coarse: np.ndarray | None = None,
    **settings: Any,
) -> Sampler: ...
def find(name: str) -> type[Sampler]: ...
