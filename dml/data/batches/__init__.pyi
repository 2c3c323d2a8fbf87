# Written by `python -m dml.discovery`.
from dml.data.batches._build import build as build
from dml.data.batches._build import find as find
from dml.data.batches.balanced import Balanced as Balanced
from dml.data.batches.hierarchical import Hierarchical as Hierarchical
from dml.data.batches.random import Random as Random
