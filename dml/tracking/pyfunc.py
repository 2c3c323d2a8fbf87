"""A trained model that MLflow serves: it maps images uint8 (N, H, W, C) to embeddings float32 (N, D).

Nothing is pickled: MLflow stores code, weights and their description, from which `_pyfunc_code.py` assembles the model.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
from mlflow.pyfunc import PythonModel

from dml.tracking import Model

REQUIREMENTS = ("torch", "torchvision", "numpy", "pandas", "pillow", "pyarrow", "pydantic", "safetensors", "scipy")


class EmbeddingModel(PythonModel):
    """Embeds images with the model in a trial's folder; the model configuration names the function that loads it."""

    def load_context(self, context: Any) -> None:
        module, _, name = context.model_config["loader"].rpartition(".")
        self._embed = getattr(importlib.import_module(module), name)(Path(context.artifacts["model"]))

    # Without a hint MLflow warns on import; it interprets most hints, but not this one.
    def predict(self, context, model_input: np.ndarray, params=None):  # type: ignore[no-untyped-def]
        """model_input uint8 (N, H, W, C), or vectors float32 (N, C) -> float32 (N, D)."""
        return self._embed(np.array(model_input))  # a copy, since torch rejects read-only (memory-mapped) arrays


def log_model(uri: str, run_id: str, model: Model) -> str:
    """Log a model to a run of MLflow's backend `uri`, and return the model's URI. Ends the run."""
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    kind = np.uint8 if len(model.image_shape) == 3 else np.float32  # images, or vectors
    inputs = Schema([TensorSpec(np.dtype(kind), (-1, *model.image_shape))])
    outputs = Schema([TensorSpec(np.dtype(np.float32), (-1, model.embedding_size))])
    mlflow.set_tracking_uri(uri)
    with mlflow.start_run(run_id=run_id):
        logged = mlflow.pyfunc.log_model(
            name=model.name,
            python_model=str(Path(__file__).with_name("_pyfunc_code.py")),
            artifacts={"model": model.folder.resolve().as_uri()},  # a path would be parsed as one, with `#` and `?`
            model_config={"loader": model.loader},
            code_paths=[str(Path(__file__).parents[1])],
            signature=ModelSignature(inputs, outputs),
            input_example=np.zeros((1, *model.image_shape), kind),
            pip_requirements=[f"{package}=={importlib.metadata.version(package)}" for package in REQUIREMENTS],
        )
    return logged.model_uri
