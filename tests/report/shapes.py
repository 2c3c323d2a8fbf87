"""SYNTHETIC studies of extreme shapes: one method, 350 methods, one seed, 20 datasets. All numbers are invented.

To look at them, run this file: `python tests/report/shapes.py <folder>` writes `<folder>/report/index.html`.
"""

import sys
from pathlib import Path

import synthetic

from dml.config import DatasetSection, Study, load_study
from dml.report.site import build

LOSSES = ["triplet", "margin", "contrastive", "multi_similarity", "histogram", "binomial_deviance"]
LOSSES += ["lifted_structure", "quadruplet", "proxy_nca", "softmax"]
POSITIVES = ["random", "easy", "semihard", "hard", "all"]
NEGATIVES = ["random", "semihard_random", "distance_weighted", "semihard_fixed", "hard", "multi_similarity"]
NEGATIVES += ["all"]
STUDIES = Path(__file__).parents[2] / "pipelines" / "studies"


def one_method() -> Study:
    """One method at one noise rate."""
    changes = {"losses": ["triplet"], "positives": ["easy"], "negatives": ["random"], "noise": synthetic.noise([0.2])}
    return synthetic.study("one-method", title="How good is one method?", **changes)


def many_methods(rates: tuple[float, ...] = (0.0, 0.4)) -> Study:
    """350 methods at each noise rate."""
    changes = {"losses": LOSSES, "positives": POSITIVES, "negatives": NEGATIVES, "noise": synthetic.noise(list(rates))}
    return synthetic.study("many-methods", title="Which of 350 methods holds up?", **changes)


def one_seed() -> Study:
    """The usual study with one seed: no intervals."""
    return synthetic.study("one-seed", title="A first look with one seed", seeds=[0])


def many_datasets(number: int = 20) -> Study:
    """Two losses on 20 datasets."""
    datasets = [DatasetSection(name="digits", id=f"collection-{i + 1:02d}", train_on="coarse") for i in range(number)]
    changes = {"datasets": datasets, "positives": ["random", "easy"], "negatives": ["random"]}
    return synthetic.study("many-datasets", title="Does the winner depend on the data?", **changes)


def quickstart() -> Study:
    """The default study as it is."""
    return load_study(STUDIES / "quickstart.yaml")


SHAPES = (quickstart, one_method, many_methods, one_seed, many_datasets)


def _main(folder: Path, names: list[str]) -> None:
    studies = [shape() for shape in SHAPES if shape.__name__ in names or not names]
    for study in studies:
        synthetic.write(study, folder)
    print(build(studies, folder / "results", folder / "store", folder / "report"))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2:])
