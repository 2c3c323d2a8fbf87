"""Easy positives (Levi et al.)."""
