"""Publish a finished study: its snapshot, key figure and README's table; prints what changed since the last time."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("publish", Path(__file__).parents[1], sys.argv[1:])
