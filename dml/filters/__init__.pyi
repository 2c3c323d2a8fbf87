# Written by `python -m dml.discovery`.
from dml.filters._build import build as build
from dml.filters._build import build_for as build_for
from dml.filters.none import None_ as None_
from dml.filters.prism import Prism as Prism
from dml.filters.prism_vmf import PrismVmf as PrismVmf
from dml.filters.sub_centers import SubCenters as SubCenters
