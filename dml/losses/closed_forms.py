"""Methods without training: whitening, principal components, LDA, and the best that is free. Each is a part."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from dml.losses._forms import Form
from dml.settings import Shown
from dml.types import Space


class _Untrained(Shown, nn.Module):
    """Asks a trial for a head in closed form: it is fitted to the features of the training images once, and nothing is
    trained. The features are those of the study's backbone if it is pretrained or frozen, else pixels.
    `dml.training.closed_form` has the equations.
    """

    closed_form: ClassVar[str]
    uses_tuples: ClassVar[bool] = False
    per_sample: ClassVar[bool] = True
    takes_padding: ClassVar[bool] = True
    mining: ClassVar[dict[str, Any]] = {}
    search_space: ClassVar[dict[str, Space]] = {}

    def __init__(self, normalize: bool = True):
        super().__init__()
        self.normalize = normalize
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Form = None) -> Tensor:
        """Raises a ValueError: there is nothing to train."""
        raise ValueError(
            f"{type(self).__name__} is fitted in closed form and has no value to train with: name {self.closed_form!r} "
            "among the losses of a study, or fit it to all features at once (dml.training.closed_form and free)"
        )


class Whitening(_Untrained):
    """Whitening of the features by their covariance within the observed classes: a baseline in closed form, not a loss.

    N. Shental et al., Adjustment Learning and Relevant Component Analysis, ECCV 2002.
    """

    version: ClassVar[int] = 1
    closed_form: ClassVar[str] = "whitening"


class Components(_Untrained):
    """The first principal components of the features: a baseline in closed form, not a loss. Labels are not used.

    K. Pearson, On lines and planes of closest fit to systems of points in space, Philosophical Magazine 2 (1901).
    """

    version: ClassVar[int] = 1
    closed_form: ClassVar[str] = "components"


class Lda(_Untrained):
    """Linear discriminant analysis of the features, by the observed classes: a baseline in closed form, not a loss.

    R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936).
    """

    version: ClassVar[int] = 1
    closed_form: ClassVar[str] = "lda"


class Free(_Untrained):
    """The best that costs no training: a layer, a pooling and a projection, chosen by the observed training labels.

    `dml.training.free` chooses on halves of the training classes, by the study's first metric: among the layers and
    poolings of `dml.models.Layers`, if the network is pretrained or its features are stored, each as it is, or as
    its principal components, whitened, or by LDA. A layer that is shorter than the embeddings is filled up with
    zeros, which changes no cosine. `model.json` says what was chosen.
    """

    version: ClassVar[int] = 1
    closed_form: ClassVar[str] = "free"
