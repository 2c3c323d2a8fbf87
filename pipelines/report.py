"""Stage `report`: one static site over the chosen studies and the published results of others."""

from _stage import PUBLISHED, REPORT, RESULTS, STORE, STUDIES, run

from dml.config import Study, load_study
from dml.report.site import build
from dml.snapshots import snapshots


def report(studies: list[Study]) -> None:
    chosen = {study.name for study in studies}
    others = [snapshot.path.name for snapshot in snapshots(PUBLISHED) if snapshot.path.name not in chosen]
    studies = [*studies, *(load_study(STUDIES / f"{name}.yaml") for name in others)]
    print(f"report: {build(studies, RESULTS, STORE, REPORT, PUBLISHED, known=STUDIES)}")


if __name__ == "__main__":
    run(report, several=True)
