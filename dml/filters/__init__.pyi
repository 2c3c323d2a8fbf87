# Written by `python -m dml.discovery`.
from dml.filters.memories import None_ as None_
from dml.filters.memories import Prism as Prism
from dml.filters.memories import PrismVmf as PrismVmf
from dml.filters.memories import SubCenters as SubCenters
from collections.abc import Mapping
from typing import Any
from dml.protocols import Filter

def build(name: str, /, **settings: Any) -> Filter: ...
def build_for(
    name: str, settings: Mapping[str, Any], *, num_classes: int | None = None, embedding_size: int | None = None
) -> Filter: ...
