"""Cars196: MATLAB annotations in two layouts."""

import numpy as np
from small_archives import Row, Small, encoded, matfile, rewritten, tar

CARS = [(1, 0), (98, 1), (99, 0), (196, 1)]
NAMES = np.array([f"Car {n}" for n in range(1, 197)], dtype=object)


def make(folder):
    kind = np.dtype([("relative_im_path", "O"), ("class", "O"), ("test", "O")])
    entries = [(f"car_ims/{n:06d}.jpg", c, t) for n, (c, t) in enumerate(CARS, start=1)]
    annotations = np.array(entries, dtype=kind)
    tar(folder / "car_ims.tgz", {name: encoded(30 * n) for n, (name, _, _) in enumerate(entries, start=1)})
    (folder / "cars_annos.mat").write_bytes(matfile(annotations=annotations, class_names=NAMES))
    rows = [
        Row(c - 1, -1, "test" if t else "train", "train" if c <= 98 else "test", 30 * n)
        for n, (c, t) in enumerate(CARS, start=1)
    ]
    return Small({}, rows)


def make_separate(folder):
    kind = np.dtype([("fname", "O"), ("class", "O")])
    rows, tables = [], {}
    for flag, part in ((0, "train"), (1, "test")):
        chosen = [(n, c) for n, (c, t) in enumerate(CARS, start=1) if t == flag]
        tar(folder / f"cars_{part}.tgz", {f"cars_{part}/{n:05d}.jpg": encoded(30 * n) for n, _ in chosen})
        tables[part] = matfile(annotations=np.array([(f"{n:05d}.jpg", c) for n, c in chosen], dtype=kind))
        rows += [Row(c - 1, -1, part, "train" if c <= 98 else "test", 30 * n) for n, c in chosen]
    meta = matfile(class_names=NAMES)
    tar(folder / "car_devkit.tgz", {"devkit/cars_meta.mat": meta, "devkit/cars_train_annos.mat": tables["train"]})
    (folder / "cars_test_annos_withlabels.mat").write_bytes(tables["test"])
    return Small({"layout": "separate"}, rows)


def annotations(names=NAMES, kind=("relative_im_path", "class", "test"), label=1):
    entry = tuple({"relative_im_path": "car_ims/000001.jpg", "class": label, "test": 0}[field] for field in kind)
    content = {"annotations": np.array([entry], dtype=[(field, "O") for field in kind]), "class_names": names}
    return matfile(**{key: value for key, value in content.items() if value is not None})


def table(**changes):
    return rewritten("cars_annos.mat", lambda: annotations(**changes))


MALFORMED = {
    "class 197": (table(label=197), r"cars_annos\.mat: car_ims/000001\.jpg: .* 197, expected an integer from 1 to 196"),
    "a class without a name": (table(names=NAMES[:3], label=4), r".* 4, expected an integer from 1 to 3"),
    "class 1.5": (table(label=1.5), r"the label is .*1\.5"),
    "no names": (
        table(names=None),
        r"cars_annos\.mat: expected .* annotations, class_names; .* lacks class_names, has annotations",
    ),
    "no field": (
        table(kind=("relative_im_path", "class")),
        r"cars_annos\.mat: expected annotations .*, class, test; .* relative_im_path, class",
    ),
}
