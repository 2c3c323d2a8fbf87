"""Figures of several sections."""
