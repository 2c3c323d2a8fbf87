"""Page furniture: what a page is made of (`blocks`, `tables`), how it is saved and rendered (`assets`, `html`)."""
