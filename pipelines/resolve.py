"""Stage `resolve`: write a study with everything that it takes over from the studies that it extends."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("resolve", Path(__file__).parents[1], sys.argv[1:])
