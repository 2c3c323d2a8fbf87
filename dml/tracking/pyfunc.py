"""A trained model as MLflow serves it: images uint8 (N, H, W, C) in, embeddings float32 (N, D) out.

Nothing is pickled: MLflow keeps the code of `dml`, the weights as safetensors and their description as JSON, and
`_pyfunc_code.py` puts them together when the model is loaded.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
from mlflow.pyfunc import PythonModel

NEEDED = ("torch", "torchvision", "numpy", "pandas", "pillow", "pyarrow", "pydantic", "safetensors", "scipy")


class EmbeddingModel(PythonModel):
    """A trial's model folder, turned into embeddings by the loader that its model configuration names."""

    def load_context(self, context: Any) -> None:
        module, _, name = context.model_config["loader"].rpartition(".")
        self._embed = getattr(importlib.import_module(module), name)(Path(context.artifacts["model"]))

    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]  # MLflow would read hints
        """model_input uint8 (N, H, W, C) -> float32 (N, D)."""
        return self._embed(np.array(model_input))  # a copy: torch takes no read-only (mapped) array


def log_model(uri: str, run_id: str, record: Mapping[str, Any], name: str = "best") -> str:
    """Log a model folder to a run; returns the model's URI."""
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    inputs = Schema([TensorSpec(np.dtype(np.uint8), (-1, *record["image_shape"]))])
    outputs = Schema([TensorSpec(np.dtype(np.float32), (-1, record["embedding_size"]))])
    mlflow.set_tracking_uri(uri)
    with mlflow.start_run(run_id=run_id):
        logged = mlflow.pyfunc.log_model(
            name=name,
            python_model=str(Path(__file__).with_name("_pyfunc_code.py")),
            artifacts={"model": record["folder"]},
            model_config={"loader": record["loader"]},
            code_paths=[str(Path(__file__).parents[1])],
            signature=ModelSignature(inputs, outputs),
            pip_requirements=[f"{package}=={importlib.metadata.version(package)}" for package in NEEDED],
        )
    return logged.model_uri
