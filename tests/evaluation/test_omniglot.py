"""The full Omniglot, 32,460 drawings, evaluated as letters and as alphabets from one embedding pass."""

import io
import itertools
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from dml.evaluation import embed, evaluate

MIRROR = Path(os.environ.get("DML_MIRROR") or Path(__file__).parents[2] / "../shared/data")
ARCHIVES = [MIRROR / "omniglot" / f"images_{part}.zip" for part in ("background", "evaluation")]


def drawings():
    """Ink, float32 (1, 105, 105), with its alphabet's and its letter's name."""
    for archive in ARCHIVES:
        with zipfile.ZipFile(archive) as files:
            for name in sorted(n for n in files.namelist() if n.endswith(".png") and "__MACOSX" not in n):
                alphabet, letter = name.split("/")[-3:-1]
                image = np.asarray(Image.open(io.BytesIO(files.read(name))).convert("L"), dtype=np.float32)
                yield torch.from_numpy(1 - image[None] / 255), alphabet, f"{alphabet}/{letter}"


@pytest.mark.slow
@pytest.mark.skipif(not all(a.is_file() for a in ARCHIVES), reason="Omniglot's archives are not at DML_MIRROR")
def test_both_levels_from_one_pass():
    alphabets, letters = [], []

    def batches():
        read = drawings()
        while together := list(itertools.islice(read, 541)):
            images, *names = zip(*together, strict=True)
            alphabets.extend(names[0])
            letters.extend(names[1])
            yield torch.stack(images)

    embeddings = embed(lambda images: torch.nn.functional.avg_pool2d(images, 7).flatten(1), batches(), 32_460)
    levels = {
        "fine": np.unique(letters, return_inverse=True)[1],
        "coarse": np.unique(alphabets, return_inverse=True)[1],
    }
    assert [len(np.unique(level)) for level in levels.values()] == [1623, 50]
    scores = evaluate(embeddings, levels, ["recall@1", "recall@5", "map@r"])
    assert len(scores) == 6
    assert scores["fine/recall@1"] < scores["coarse/recall@1"] < scores["coarse/recall@5"]
    assert scores["fine/map@r"] > scores["coarse/map@r"] > 0.02
    some = np.arange(32_460) % 100 == 0
    x = embeddings.double()
    x /= x.norm(dim=1, keepdim=True)
    similarity = x[some] @ x.T
    similarity[torch.arange(len(similarity)), torch.from_numpy(some.nonzero()[0])] = -2
    nearest = similarity.argmax(1).numpy()
    subset = evaluate(embeddings, levels, ["recall@1"], queries=some)
    for level, labels in levels.items():
        assert subset[f"{level}/recall@1"] == pytest.approx((labels[nearest] == labels[some]).mean())
