"""Geodesics between samples (Vasudeva et al. 2021): nine cases, their gain, steps and gradients, own classes."""
