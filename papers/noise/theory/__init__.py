"""Label noise (Le, Odobez): noise of pairs, unhinged losses."""
