"""Write the table of docs/findings.md from the snapshots, after a study file or the code of the table has changed."""

import argparse
import os
import tempfile
from pathlib import Path

from dml.pipeline.publish import snapshot_studies, write_figures, write_table

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--figures", action="store_true", help="draw the figures of the results page again too (takes a minute)"
    )
    arguments = parser.parse_args()
    os.chdir(Path(__file__).parents[1])
    if arguments.figures:
        with tempfile.TemporaryDirectory() as nothing_run:
            print(f"{len(write_figures(snapshot_studies(), Path(nothing_run)))} figures: written")
    print(f"{write_table()}: written")
