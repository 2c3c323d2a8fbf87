"""Verdicts on the paper's theory claims, made from computed numbers."""
