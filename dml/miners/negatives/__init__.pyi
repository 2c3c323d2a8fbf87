# Written by `python -m dml.discovery`.
from dml.miners.negatives.policies import All as All
from dml.miners.negatives.policies import DistanceWeighted as DistanceWeighted
from dml.miners.negatives.policies import Hard as Hard
from dml.miners.negatives.policies import MultiSimilarity as MultiSimilarity
from dml.miners.negatives.policies import Random as Random
from dml.miners.negatives.policies import SemihardFixed as SemihardFixed
from dml.miners.negatives.policies import SemihardRandom as SemihardRandom
from typing import Any
from dml.protocols import NegativePolicy

def build(name: str, /, **settings: Any) -> NegativePolicy: ...
