"""What MLflow shows, as runs: a study's results, its champions and its audit."""
