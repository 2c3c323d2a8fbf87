"""Histogram loss (Ustinova, Lempitsky)."""
