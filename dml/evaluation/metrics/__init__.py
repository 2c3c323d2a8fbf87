"""One metric a file; the file's name is the metric's (`map@r` is `map_at_r`, `nmi+` is `nmi_plus`).

A retrieval metric has `depth(most)`, how many neighbours it needs where the query with the most relevant rows has
`most` (None: all), and turns `Hits` of b queries into b values. A clustering metric has `clusters(classes)`, and turns
a `Contingency` into one value.
"""
