"""Import this before `dml`, whose imports take seconds: an interrupt during them ends a stage without a traceback."""

import signal
import sys
from pathlib import Path

is_stage = Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parent  # not a test
if is_stage and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `_stage.run` begins
