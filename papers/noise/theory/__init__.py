"""Label noise (Le, Odobez): noise of pairs, bounds on the rate, the skew of sampling, unhinged losses."""
