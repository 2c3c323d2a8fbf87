"""Import this before other rooms, in a project's folder.

If the report has many pages, the processes that draw them import what they need meanwhile, two seconds earlier.
"""

import multiprocessing
import sys
import tempfile
from multiprocessing import forkserver

from dml.files import sockets_fit
from dml.pipeline.folders import RESULTS, SNAPSHOTS

FEW, LISTENER = 5, 32  # studies, which the report draws itself; and a socket (`MANY` in dml/report/site.py)


def starts() -> bool:
    """Whether processes draw the pages of this project."""
    here = {path.parent.name for folder in (RESULTS, SNAPSHOTS) for path in folder.glob("*/trials.parquet")}
    serves = sys.platform == "linux" and sockets_fit(tempfile.gettempdir(), LISTENER)
    return serves and multiprocessing.current_process().name == "MainProcess" and len(here) > FEW


if starts():
    forkserver.set_forkserver_preload(["dml.report.site"])
    forkserver.ensure_running()
