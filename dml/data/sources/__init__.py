"""Datasets, one per file: where the archives are, what they contain, and the roles that the papers give to the images.

`dml.protocols.Source` lists what a source provides. A new dataset is one file here and one test file.
"""

from __future__ import annotations

from dml import discovery
from dml.data.sources._build import build, find, left_out

__all__ = ["build", "find", "left_out"]

__getattr__, __dir__ = discovery.lazy(__name__)
