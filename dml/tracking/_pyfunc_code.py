"""MLflow runs this file to load a logged model (`models from code`)."""

import mlflow

from dml.tracking.pyfunc import EmbeddingModel

mlflow.models.set_model(EmbeddingModel())
