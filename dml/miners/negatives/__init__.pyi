# Written by `python -m dml.discovery`.
from dml.miners.negatives.all import All as All
from dml.miners.negatives.distance_weighted import DistanceWeighted as DistanceWeighted
from dml.miners.negatives.hard import Hard as Hard
from dml.miners.negatives.multi_similarity import MultiSimilarity as MultiSimilarity
from dml.miners.negatives.random import Random as Random
from dml.miners.negatives.semihard_fixed import SemihardFixed as SemihardFixed
from dml.miners.negatives.semihard_random import SemihardRandom as SemihardRandom
