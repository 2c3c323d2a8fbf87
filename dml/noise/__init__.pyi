# Written by `python -m dml.discovery`.
from dml.noise.plain import Given as Given
from dml.noise.plain import LabelFile as LabelFile
from dml.noise.plain import Subset as Subset
from dml.noise.plain import Uniform as Uniform
from dml.noise.structured import Asymmetric as Asymmetric
from dml.noise.structured import OpenSet as OpenSet
from dml.noise.structured import Similarity as Similarity
from dml.noise.structured import SmallCluster as SmallCluster
from collections.abc import Iterable, Mapping
from typing import Any
import numpy as np
import pandas as pd
from dml.protocols import NoiseModel

def build(name: str, **settings: Any) -> NoiseModel: ...
def table(
    index: np.ndarray,
    labels: np.ndarray,
    models: Iterable[tuple[str, float, Mapping[str, Any]]],
    seeds: Iterable[int],
    phase: str,
    **context: Any,
) -> pd.DataFrame: ...
def halves(labels: pd.DataFrame, tune: np.ndarray, classes: np.ndarray) -> pd.DataFrame: ...
