# Written by `python -m dml.discovery`.
from dml.data.sources.bundled import Digits as Digits
from dml.data.sources.bundled import Numbers as Numbers
from dml.data.sources.characters import Mnist as Mnist
from dml.data.sources.characters import Omniglot as Omniglot
from dml.data.sources.cifar100 import Cifar100 as Cifar100
from dml.data.sources.features import Features as Features
from dml.data.sources.huggingface import Huggingface as Huggingface
from dml.data.sources.imagefolder import Imagefolder as Imagefolder
from dml.data.sources.persons import Cuhk03 as Cuhk03
from dml.data.sources.persons import Market1501 as Market1501
from dml.data.sources.photographs import Cars196 as Cars196
from dml.data.sources.photographs import Cub200 as Cub200
from dml.data.sources.photographs import Flowers102 as Flowers102
from dml.data.sources.photographs import Sop as Sop
from typing import Any
from dml.protocols import Source

def build(name: str, **options: Any) -> Source: ...
def left_out(source: Source) -> str: ...
def find(name: str) -> type[Source]: ...
