# Written by `python -m dml.discovery`.
from dml.data.augment.pipelines import Crop224 as Crop224
from dml.data.augment.pipelines import Crop227 as Crop227
from dml.data.augment.pipelines import None_ as None_
from dml.data.augment.pipelines import Omniglot80 as Omniglot80
from dml.data.augment.pipelines import RandomResizedCrop as RandomResizedCrop
from typing import Any
from dml.protocols import Augmentation

def build(name: str, **settings: Any) -> Augmentation: ...
