"""How figures look and are saved (`style`, `axes`, `saving`), and the figures that several sections share."""
