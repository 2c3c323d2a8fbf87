"""`python -m dml.pipeline sweep quickstart` runs a stage of the project in the working directory."""

import sys
from pathlib import Path

from dml.pipeline.start import OTHERS, STAGES, start

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in (*STAGES, *OTHERS):
        sys.exit(f"usage: python -m dml.pipeline STAGE [STUDY], where STAGE is one of: {', '.join((*STAGES, *OTHERS))}")
    start(sys.argv[1], Path.cwd(), sys.argv[2:])
