"""Choose the studies that `dvc repro` runs, or print where their results are.

`paper-eps`, `paper-loop`, `paper-histogram` and `paper-noise` stand for a paper's studies that run on any machine.
Their names begin with the paper's, and they ask for no GPU. docs/studies-of-the-papers.md lists them.
"""

import argparse
import sys

import yaml
from _stage import PARAMS, REPORT, STUDIES

from dml.config import ConfigError, load_study
from dml.config.printed import printed
from dml.discovery import suggestion

GROUP = "paper-"


def studies_of(name: str) -> list[str]:
    """The studies that a name stands for: of a group, in the order of their names; else the study itself.

    Raises
    ------
    ConfigError : neither a study nor a group, or a study of the group that cannot run.
    """
    studies = sorted(path.stem for path in STUDIES.glob("*.yaml"))
    groups = [GROUP + paper for paper in dict.fromkeys(claim.paper for claim in printed().values())]
    if name in studies:
        return [name]
    if name not in groups:
        raise ConfigError(f"{STUDIES / name}.yaml: no such study or group{suggestion(name, [*groups, *studies])}")
    paper = name.removeprefix(GROUP)
    own = [load_study(STUDIES / f"{study}.yaml") for study in studies if study.startswith(f"{paper}-")]
    return [study.name for study in own if not study.resources.gpus_per_trial]


def choose(names: list[str]) -> None:
    """Write the list of studies into params.yaml if all of them are valid."""
    chosen = list(dict.fromkeys(study for name in names for study in studies_of(name)))
    for study in chosen:
        load_study(STUDIES / f"{study}.yaml")
    if chosen != names:
        print(f"{len(chosen)} studies: {', '.join(chosen)}")
    head = [line for line in PARAMS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    PARAMS.write_text("\n".join([*head, yaml.safe_dump({"studies": chosen})]), encoding="utf-8")


def done() -> None:
    """Print the last lines of `make repro`."""
    print(f"\nThe report: {(REPORT / 'index.html').resolve().as_uri()}\nThe runs:   make ui   (MLflow)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help=f"files in {STUDIES}, without .yaml, or groups such as {GROUP}eps")
    parser.add_argument("--done", action="store_true", help="print where the report is")
    arguments = parser.parse_args()
    try:
        if arguments.studies:
            choose(arguments.studies)
    except ConfigError as error:
        sys.exit(f"error: {error}")
    if arguments.done:
        done()
