"""Choose the studies that `dvc repro` runs, or print where their results are."""

import argparse
import sys

import yaml
from _stage import PARAMS, REPORT, STUDIES

from dml.config import ConfigError, load_study


def choose(names: list[str]) -> None:
    """Write the list of studies into params.yaml if all of them are valid."""
    for name in names:
        load_study(STUDIES / f"{name}.yaml")
    head = [line for line in PARAMS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    PARAMS.write_text("\n".join([*head, yaml.safe_dump({"studies": names})]), encoding="utf-8")


def done() -> None:
    """Print the last lines of `make repro`."""
    print(f"\nThe report: {(REPORT / 'index.html').resolve().as_uri()}\nThe runs:   make ui   (MLflow)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help=f"files in {STUDIES}, without .yaml")
    parser.add_argument("--done", action="store_true", help="print where the report is")
    arguments = parser.parse_args()
    try:
        if arguments.studies:
            choose(arguments.studies)
    except ConfigError as error:
        sys.exit(f"error: {error}")
    if arguments.done:
        done()
