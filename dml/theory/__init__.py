"""Pair noise, bounds on the noise rate, the skew of sampling, expected risk and class collapse, with NumPy only."""
