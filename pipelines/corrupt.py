"""Stage `corrupt`: corrupt the labels of the training images. Test labels never change."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("corrupt", Path(__file__).parents[1], sys.argv[1:])
