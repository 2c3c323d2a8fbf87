"""Figures of the theory page."""
