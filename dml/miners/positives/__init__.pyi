# Written by `python -m dml.discovery`.
from dml.miners.positives.policies import All as All
from dml.miners.positives.policies import Easy as Easy
from dml.miners.positives.policies import Hard as Hard
from dml.miners.positives.policies import MultiSimilarity as MultiSimilarity
from dml.miners.positives.policies import Random as Random
from dml.miners.positives.policies import Semihard as Semihard
from typing import Any
from dml.protocols import PositivePolicy

def build(name: str, /, **settings: Any) -> PositivePolicy: ...
