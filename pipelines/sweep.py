"""Stage `sweep`: tune every cell of a study with the same budget, then confirm its best settings on the test split."""

from _stage import RESULTS, STORE, data_root, run

from dml.config import Study
from dml.data import splits
from dml.sweep.run import run_study
from dml.training.data import EVALUATION_ROLES, of_fitting_classes, open_packed_of


def check_sets(study: Study) -> None:
    """Reject evaluation sets without images now, instead of at the end of every trial.

    Raises
    ------
    ValueError : a dataset has no images in a set that `evaluation.sets` names.
    """
    for dataset in study.datasets:
        split = splits.load(data_root(study) / "split" / f"{dataset.label}.parquet")
        for name in study.evaluation.sets:
            column, roles = EVALUATION_ROLES[name]
            chosen = split[column].isin(roles)
            if not chosen.any():
                roles_found = ", ".join(sorted(set(split[column])))
                raise ValueError(
                    f"dataset {dataset.label!r}: evaluation.sets names {name!r}, but none of its images is "
                    f"{' or '.join(roles)}. Roles of its images: {roles_found}"
                )
            if study.search.protocol == "train_val_test" and name != "test":
                fine = open_packed_of(data_root(study), dataset.label).index["fine"].to_numpy()
                if not len(of_fitting_classes(split.loc[chosen, "index"].to_numpy(), split, fine)):
                    raise ValueError(
                        f"dataset {dataset.label!r}: evaluation.sets names {name!r}, but with search.protocol "
                        "'train_val_test' only half of the training classes are fitted, and it has no image of them"
                    )


def sweep(study: Study) -> None:
    check_sets(study)
    run_study(study, data_root(study), STORE, RESULTS / study.name)


if __name__ == "__main__":
    run(sweep)
