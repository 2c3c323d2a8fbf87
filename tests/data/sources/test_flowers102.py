"""Oxford 102 Flowers: MATLAB tables of labels and parts."""

import numpy as np
from small_archives import Row, Small, encoded, matfile, rewritten, tar

IDS = {"trnid": "train", "valid": "val", "tstid": "test"}


def make(folder):
    labels, parts = [1, 51, 52, 102, 1], ["train", "val", "test", "test", "test"]
    tar(folder / "102flowers.tgz", {f"jpg/image_{n:05d}.jpg": encoded(40 * n) for n in range(1, 6)})
    (folder / "imagelabels.mat").write_bytes(matfile(labels=np.array([labels], np.uint8)))
    ids = {key: np.array([[n for n, p in enumerate(parts, 1) if p == part]]) for key, part in IDS.items()}
    (folder / "setid.mat").write_bytes(matfile(**ids))
    rows = [
        Row(c - 1, -1, p, "train" if c <= 51 else "test", 40 * n)
        for n, (c, p) in enumerate(zip(labels, parts, strict=True), start=1)
    ]
    return Small({}, rows)


def labels(*values, kind=np.uint16):
    return rewritten("imagelabels.mat", lambda: matfile(labels=np.array([values], kind)))


MALFORMED = {
    "class 500": (labels(1, 500, 2, 3, 4), r"imagelabels\.mat: image 2: .* 500, expected an integer from 1 to 102"),
    "class 0": (labels(0, 1, 2, 3, 4), "image 1: .* 0, expected"),
    "no labels": (
        rewritten("imagelabels.mat", lambda: matfile(other=np.arange(5))),
        r"imagelabels\.mat: expected .* labels; .* lacks labels, has other",
    ),
    "no part": (
        rewritten("setid.mat", lambda: matfile(trnid=np.arange(5))),
        r"setid\.mat: expected .* lacks valid, tstid",
    ),
}
