# Written by `python -m dml.discovery`.
from dml.data.augment._build import build as build
from dml.data.augment.crop224 import Crop224 as Crop224
from dml.data.augment.crop227 import Crop227 as Crop227
from dml.data.augment.none import None_ as None_
from dml.data.augment.omniglot80 import Omniglot80 as Omniglot80
from dml.data.augment.random_resized_crop import RandomResizedCrop as RandomResizedCrop
