"""Label noise (Le, Odobez)."""
