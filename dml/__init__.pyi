from dml import audit as audit
from dml import cli as cli
from dml import config as config
from dml import data as data
from dml import discovery as discovery
from dml import evaluation as evaluation
from dml import files as files
from dml import filters as filters
from dml import losses as losses
from dml import miners as miners
from dml import models as models
from dml import noise as noise
from dml import protocols as protocols
from dml import report as report
from dml import seeding as seeding
from dml import snapshots as snapshots
from dml import statistics as statistics
from dml import sweep as sweep
from dml import tracking as tracking
from dml import training as training
from dml import types as types

__version__: str
