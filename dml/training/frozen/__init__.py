"""Trials on what a fixed network gives, computed once: features (`frozen`) or activations (`train_from`)."""
