"""A first guess of the noise rate alone: the two rounds of an audit on one representation, without scores."""

from __future__ import annotations

from typing import Any

from dml.audit._audit import kept
from dml.audit._folds import folds_of
from dml.audit._inputs import DEFAULT_NAME, check
from dml.audit._probabilities import Representation
from dml.audit._rate import Rate, first_guess
from dml.audit._scores import suspicion


def guess(vectors: Any, labels: Any, *, folds: int = 5, seed: int = 0) -> Rate:
    """The guess that `audit` would make from these vectors (n, D) and labels (n,), as given.

    Raises
    ------
    ValueError : as `audit`.
    """
    data = check(vectors, labels)
    judged, dealt = data.codes >= 0, folds_of(data.labels, folds, seed)
    representation = Representation(data.vectors[DEFAULT_NAME], data.codes, dealt)
    first = representation.round("first", judged)
    cut = first_guess(first, first, data.codes)
    unsuspected = kept(suspicion(first, data.codes, cut.evenness), data.codes, cut.guess)
    return first_guess(first, representation.round("second", unsuspected), data.codes)
