"""Choose the studies that `dvc repro` runs. `dml run` does so too, and then runs them.

`paper-eps`, `paper-loop`, `paper-histogram` and `paper-noise` stand for a paper's studies that run on any machine.
Their names begin with the paper's, and they ask for no GPU. docs/studies-of-the-papers.md lists them.
"""

import argparse
import sys
from pathlib import Path

from dml.cli.project import find_project, valid, write_chosen
from dml.pipeline.folders import STUDIES

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", help=f"files in {STUDIES}, without .yaml, or groups such as paper-eps")
    try:
        project = find_project(Path(__file__).parent)
        write_chosen(project, valid(project, parser.parse_args().studies))
    except ValueError as error:
        sys.exit(f"error: {error}")
