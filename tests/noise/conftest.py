"""Labels, and what a noise model may need beside them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dml import discovery, noise


def make_labels(seed=0, classes=10, n=600):
    """int64 (classes + n,): every class 2, 5, 8, ... at least once."""
    generator = np.random.default_rng(seed)
    return generator.permutation(np.concatenate([np.arange(classes), generator.integers(0, classes, n)])) * 3 + 2


def make_context(labels, rate=0.0):
    """A value for everything that a noise model may ask for. Of the given labels, the share `rate` is wrong."""
    wrong = np.random.default_rng(7).permutation(len(labels))[: round(rate * len(labels))]
    given, (classes, true) = labels.copy(), np.unique(labels, return_inverse=True)
    given[wrong] = classes[(true[wrong] + 1) % max(len(classes), 1)]
    features = np.random.default_rng(9).normal(size=(len(labels), 4)) + labels[:, None] % 4
    return {"features": features, "index": np.arange(len(labels)), "phase": "confirm", "given": given, "paths": None}


@pytest.fixture
def tools(tmp_path):
    """Functions that work for every noise model: by its settings and its `context`, not by its name."""

    def label_file(labels, rate):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.csv"
        observed = make_context(labels, rate)["given"]
        pd.DataFrame({"index": np.arange(len(labels)), "label": observed}).to_csv(path, index=False)
        return path

    def reads_file(name):
        return "path" in discovery.settings_of(discovery.find("dml.noise", name))

    def reads_labels(name):
        return reads_file(name) or "given" in discovery.find("dml.noise", name).context

    def build(name, labels, rate, **settings):
        valid = labels.ndim == 1 and labels.dtype.kind in "iu" and 0 <= rate < 1
        if reads_file(name):
            settings["path"] = label_file(labels, rate) if valid else tmp_path / "none.csv"
        return noise.build(name, rate=rate, **settings)

    def corrupt(name, labels, rate, seed=0, left_out=(), **settings):
        model = build(name, labels, rate, **settings)
        valid = not isinstance(rate, str) and 0 <= rate < 1
        context = make_context(labels, rate if valid else 0.0) if labels.ndim == 1 and labels.dtype.kind in "iu" else {}
        kept = {key: context[key] for key in model.context if key in context and key not in left_out}
        return model.corrupt(labels, seed, **kept)

    return SimpleNamespace(
        build=build, corrupt=corrupt, make_labels=make_labels, reads_file=reads_file, reads_labels=reads_labels
    )
