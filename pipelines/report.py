"""Stage `report`: one static site over all studies, published numbers beside reproduced ones."""

from _stage import REPORT, RESULTS, STORE, run

from dml.config import Study
from dml.report.site import build


def report(studies: list[Study]) -> None:
    print(f"report: {build(studies, RESULTS, STORE, REPORT)}")


if __name__ == "__main__":
    run(report, several=True)
