"""The stages of the pipeline: one module each, `python -m dml.pipeline STAGE STUDY`.

A stage reads a study and the outputs of earlier stages, calls the rooms below, and writes its own outputs. Each module
has a function `run`, which `start.py` calls.
"""
