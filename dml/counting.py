"""Numbers of things in messages."""

from __future__ import annotations

PLURALS = {"class": "classes", "copy": "copies", "query": "queries", "study": "studies"}


def counted(number: int, noun: str) -> str:
    """`1 class`, `2 classes`, `1,200 exact copies`: the noun's last word has the plural."""
    if number == 1:
        return f"1 {noun}"
    before, space, last = noun.rpartition(" ")
    return f"{number:,} {before}{space}{PLURALS.get(last, last + 's')}"
