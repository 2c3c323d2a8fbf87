# Written by `python -m dml.discovery`.
from dml.losses._pairs import Memory as Memory
from dml.losses.anchors import Circle as Circle
from dml.losses.anchors import InfoNce as InfoNce
from dml.losses.anchors import LiftedStructure as LiftedStructure
from dml.losses.anchors import MultiSimilarity as MultiSimilarity
from dml.losses.classification import BootstrapSoftmax as BootstrapSoftmax
from dml.losses.classification import GeneralizedSoftmax as GeneralizedSoftmax
from dml.losses.classification import Softmax as Softmax
from dml.losses.closed_forms import Components as Components
from dml.losses.closed_forms import Free as Free
from dml.losses.closed_forms import Lda as Lda
from dml.losses.closed_forms import Whitening as Whitening
from dml.losses.pairwise import BinomialDeviance as BinomialDeviance
from dml.losses.pairwise import Contrastive as Contrastive
from dml.losses.pairwise import Histogram as Histogram
from dml.losses.pairwise import Margin as Margin
from dml.losses.proxies import Arcface as Arcface
from dml.losses.proxies import ProxyAnchor as ProxyAnchor
from dml.losses.proxies import ProxyNca as ProxyNca
from dml.losses.proxies import SoftTriple as SoftTriple
from dml.losses.quadruplet import Quadruplet as Quadruplet
from dml.losses.ranks import RecallAtK as RecallAtK
from dml.losses.ranks import SmoothAp as SmoothAp
from dml.losses.synthesis import HphnTriplet as HphnTriplet
from dml.losses.synthesis import LiftedHinge as LiftedHinge
from dml.losses.trimmed import Trimmed as Trimmed
from dml.losses.triplet import Triplet as Triplet
from collections.abc import Mapping
from typing import Any
from dml.protocols import Loss
from dml.types import Space

def build(name: str, /, **settings: Any) -> Loss: ...
def closed_form_of(name: str) -> str | None: ...
def innermost(name: str, settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]: ...
def parameter_rate_of(name: str, settings: Mapping[str, Any]) -> Space | None: ...
def build_for(
    name: str,
    settings: Mapping[str, Any],
    *,
    num_classes: int | None = None,
    embedding_size: int | None = None,
    normalize: bool | None = None,
) -> Loss: ...
