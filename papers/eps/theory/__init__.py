"""Class collapse and easy positives (Levi et al. 2021): risks, minimisers, modes, the order of neighbours."""
