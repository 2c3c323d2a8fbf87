"""What the figures of kept embeddings are drawn from: small arrays that are computed here, or read from a snapshot.

A figure takes its arrays from `FigureData.of`, by the figure's name, the trial's key and the set. So what a publication
records is what the figure shows, and a clone draws the same figure without embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dml.snapshots.table import KEY_DIGITS

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class FigureData:
    """The arrays of one study's figures.

    Parameters
    ----------
    snapshot : its arrays, by `<figure>/<key>/<set>/<field>`; None: they are computed.
    before : of the snapshot that a publication replaces, for trials that it reused: their files are not here.

    Attributes
    ----------
    found : what has been computed so far, by the same names.
    """

    snapshot: Mapping[str, np.ndarray] | None = None
    before: Mapping[str, np.ndarray] = field(default_factory=dict)
    found: Arrays = field(default_factory=dict)

    def of(self, figure: str, key: str, part: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of one figure for one trial and set, by their field; of a snapshot without them, none.

        Parameters
        ----------
        compute : returns them. They are drawn as they are, so they should be as small as the figure allows.
        """
        place = _place(figure, key, part)
        if self.snapshot is None:
            arrays = compute() or _at(place, self.before)
            self.found.update({place + name: array for name, array in arrays.items()})
            return arrays
        return _at(place, self.snapshot)

    def sets(self, figure: str, key: str) -> list[str]:
        """The sets for which a snapshot has arrays of a figure for a trial."""
        place = f"{figure}/{key[:KEY_DIGITS]}/"
        names = [name for name in self.snapshot or {} if name.startswith(place)]
        return list(dict.fromkeys(name.removeprefix(place).split("/")[0] for name in names))


def _at(place: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    return {name.removeprefix(place): array for name, array in arrays.items() if name.startswith(place)}


def _place(figure: str, key: str, part: str) -> str:
    return f"{figure}/{key[:KEY_DIGITS]}/{part}/"
