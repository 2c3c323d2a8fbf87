"""Stage `report`: one static site over the chosen studies and the published results of others."""

import sys

from _stage import PUBLISHED, REPORT, RESULTS, STORE, STUDIES, run

from dml.config import Study, load_study
from dml.report.site import build
from dml.snapshots import snapshots
from dml.tracking.pages import log_page


def report(studies: list[Study]) -> None:
    chosen = {study.name for study in studies}
    others = [snapshot.path.name for snapshot in snapshots(PUBLISHED) if snapshot.path.name not in chosen]
    page = build(
        [*studies, *(load_study(STUDIES / f"{name}.yaml") for name in others)], RESULTS, STORE, REPORT, PUBLISHED
    )
    print(f"report: {page}")
    for study in sorted(chosen):
        problem = log_page(study, REPORT / "studies" / f"{study}.html")
        if problem:
            print(
                f"report: its page of {study} is not in MLflow (`make report` tries again): {problem}", file=sys.stderr
            )
            return


if __name__ == "__main__":
    run(report, several=True)
