# Written by `python -m dml.discovery`.
from dml.data.augment.fixed import Crop224 as Crop224
from dml.data.augment.fixed import Crop227 as Crop227
from dml.data.augment.fixed import None_ as None_
from dml.data.augment.fixed import Omniglot80 as Omniglot80
from dml.data.augment.random_resized_crop import RandomResizedCrop as RandomResizedCrop
from typing import Any
from dml.protocols import Augmentation

def build(name: str, **settings: Any) -> Augmentation: ...
