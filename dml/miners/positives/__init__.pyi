# Written by `python -m dml.discovery`.
from dml.miners.positives._build import build as build
from dml.miners.positives.all import All as All
from dml.miners.positives.easy import Easy as Easy
from dml.miners.positives.hard import Hard as Hard
from dml.miners.positives.multi_similarity import MultiSimilarity as MultiSimilarity
from dml.miners.positives.random import Random as Random
from dml.miners.positives.semihard import Semihard as Semihard
