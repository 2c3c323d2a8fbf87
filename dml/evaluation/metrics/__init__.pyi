# Written by `python -m dml.discovery`.
from dml.evaluation.metrics.scores import Ami as Ami
from dml.evaluation.metrics.scores import F1 as F1
from dml.evaluation.metrics.scores import Map as Map
from dml.evaluation.metrics.scores import MapAtR as MapAtR
from dml.evaluation.metrics.scores import Nmi as Nmi
from dml.evaluation.metrics.scores import NmiPlus as NmiPlus
from dml.evaluation.metrics.scores import PairAuc as PairAuc
from dml.evaluation.metrics.scores import Precision as Precision
from dml.evaluation.metrics.scores import Recall as Recall
from typing import Any
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric

def metric_part(name: str) -> tuple[str, dict[str, int]]: ...
def metric_names() -> tuple[str, ...]: ...
def check_metric(name: str) -> None: ...
def build(name: str, /, **settings: Any) -> RetrievalMetric | ClusteringMetric | PairMetric: ...
