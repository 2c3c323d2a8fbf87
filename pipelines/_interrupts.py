"""Import this before `dml`, whose imports take seconds: an interrupt during them ends a stage without a traceback."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `_stage.run` begins
