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


def size_text(size: float) -> str:
    """`1.2 GB`, `340 MB`, `12 KB`: a number of bytes, in powers of 1024."""
    for unit in ("TB", "GB", "MB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.3g} {unit}"
    return f"{size / UNITS['KB']:.3g} KB"
