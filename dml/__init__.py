"""Deep metric learning under label noise: losses, tuples, noise, and the study of them all."""

__version__ = "0.1.0"
