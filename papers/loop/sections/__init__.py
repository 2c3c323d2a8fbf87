"""The paper's sections of the theory page: one file, one class, with its figure, tables and verdicts."""
