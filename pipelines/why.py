"""Why does this study's sweep run trials (again)? Prints what differs from the most similar trials in the store."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("why", Path(__file__).parents[1], sys.argv[1:])
