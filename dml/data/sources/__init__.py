"""One dataset a file: where its archives are, what is in them, and the roles its papers give to its images.

A source is a class with

- `name`, the file's name; `levels`, the label levels it has: `("fine",)` or `("fine", "coarse")`;
- options as constructor keywords, kept under the same names;
- `download(raw, report)`: fetch and verify the raw files into the folder `raw`, which is the source's own;
- `images(raw)`: records in a fixed order, each a mapping with `image` (a file's path, encoded bytes, or uint8
  (H, W) or (H, W, C)), `fine` (int), `path` (str, relative to `raw`), and where they exist `coarse` (int), `fine_name`,
  `coarse_name`, `part` (the dataset's own designation) and `camera` (int);
- `roles(index)`: train, seen, test, query, gallery or unused for each row of a packed index;
- optionally `counts`, `{role: {"images": n, "fine": n, "coarse": n}}`, and `content`, the digest of all decoded pixels
  and labels, both checked unless the option `complete` is False; `fingerprint(raw)`, which changes with files that are
  not downloaded; `root`, the folder that `path` is relative to, where it is not `raw`.
"""
