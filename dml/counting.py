"""Numbers of things, and sizes in bytes, as people write and read them."""

from __future__ import annotations

UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
PLURALS = {"class": "classes", "copy": "copies", "query": "queries", "study": "studies"}


def counted(number: int, noun: str) -> str:
    """`1 class`, `2 classes`, `1,200 exact copies`: the noun's last word has the plural."""
    if number == 1:
        return f"1 {noun}"
    before, space, last = noun.rpartition(" ")
    return f"{number:,} {before}{space}{PLURALS.get(last, last + 's')}"


def bytes_of(size: str | int) -> int:
    """A number of bytes from `4 GB`, `256 MB` or a number of bytes. Units are powers of 1024.

    Raises
    ------
    ValueError : another text, or not above 0.
    """
    number, unit = size, ""
    if isinstance(size, str):
        number, unit = size.strip().upper(), ""
        for known in UNITS:
            if number.endswith(known):
                number, unit = number.removesuffix(known), known
    try:
        found = int(float(number) * UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        found = 0
    if isinstance(size, bool) or found <= 0:
        raise ValueError(f"expected a size such as '256 MB' or '4 GB', or a number of bytes; got {size!r}")
    return found


def size_text(size: float) -> str:
    """`1.2 GB`, `340 MB`, `12 KB`: a number of bytes, in powers of 1024."""
    for unit in ("TB", "GB", "MB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.3g} {unit}"
    return f"{size / UNITS['KB']:.3g} KB"
