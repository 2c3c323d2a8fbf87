"""Stage `audit`: find labels that are probably wrong. A study passes if it has no section `audit` and nobody asked."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("audit", Path(__file__).parents[1], sys.argv[1:])
