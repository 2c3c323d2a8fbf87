"""The best that costs no training: a layer, a pooling and a projection, chosen by the observed training labels.

`dml.training.free` chooses on halves of the training classes, by the study's first metric: among the layers and
poolings of `dml.models.Layers`, if the network is pretrained or its features are stored, each as it is, or as its
principal components, whitened, or by LDA. A layer that is shorter than the embeddings is filled up with zeros, which
changes no cosine. `model.json` says what was chosen.
"""

from __future__ import annotations

from typing import ClassVar

from dml.losses._untrained import Untrained


class Free(Untrained):
    """No parameters but `normalize`, which has no effect."""

    closed_form: ClassVar[str] = "free"
