"""The training images that are evaluated where a dataset has very many.

Retrieval depends on two numbers: how many images of its own class a query can find, and how many others it can confuse
with them. A sample of many small classes (Online Products: 5 images each) keeps classes whole, since evenly thinned
ones would have nothing left to find. A sample of few large classes (MNIST: 6,000 images each) thins them evenly, since
a few whole ones would leave nothing to confuse.
"""

from __future__ import annotations

import numpy as np

from dml.seeding import numpy_generator

MOST = 10_000  # images
WHOLE = 100  # images; a smaller class is never thinned


def sample(rows: np.ndarray, classes: np.ndarray, most: int = MOST) -> np.ndarray:
    """At most `most` of the images, the same for every trial of a dataset; all if there are no more than that.

    Each class keeps as many random images as fit if all classes get equally many, but at least `WHOLE`. Of the classes
    so thinned, random whole ones are taken as long as they fit, so there are fewer than `most` images in general.

    Parameters
    ----------
    rows : int64 (n,), rows of the images in the packed array.
    classes : int64 (n,), their fine classes.

    Returns
    -------
    int64 (m,), a subset of `rows` in the same order.
    """
    if len(rows) <= most:
        return rows
    draw = numpy_generator(0, "evaluated training images")
    known, code, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    keep = min(most, max(WHOLE, most // len(known)))
    order = draw.permutation(len(rows))
    order = order[np.argsort(code[order], kind="stable")]  # by class, in random order within each
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = draw.permutation(len(known))
    fitting = turn[np.cumsum(np.minimum(sizes[turn], keep)) <= most]
    chosen = order[(place < keep) & np.isin(code[order], fitting)]
    return rows[np.sort(chosen)]
