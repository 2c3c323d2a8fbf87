"""The sections of the theory page: one file, one class, with its figure, tables and verdicts on the papers' claims."""
