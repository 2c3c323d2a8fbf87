"""Verdicts on the papers' theory claims, made from the numbers of the theory page."""
