"""The histogram loss (Ustinova, Lempitsky): the probability of a reverse order and its estimate."""
