"""Stage `features`: compute the features that frozen trials or an audit need. A study that needs none passes."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("features", Path(__file__).parents[1], sys.argv[1:])
