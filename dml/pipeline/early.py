"""Import this before other rooms.

The processes that draw pages then import what they need while this one does, two seconds earlier.
"""

import multiprocessing
import sys
from multiprocessing import forkserver

if sys.platform == "linux" and multiprocessing.current_process().name == "MainProcess":
    forkserver.set_forkserver_preload(["dml.report.parallel"])
    forkserver.ensure_running()
