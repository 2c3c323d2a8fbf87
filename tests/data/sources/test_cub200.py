"""CUB-200-2011: text tables."""

from small_archives import Row, Small, edited, encoded, tar

FOLDER = "CUB_200_2011"


def make(folder):
    classes = [1, 100, 101, 200]
    members = {f"{FOLDER}/attributes/x.txt": b"", "attributes.txt": b"1 has_bill_shape::curved\n"}
    tables = dict.fromkeys(("images", "image_class_labels", "train_test_split"), "")
    rows = []
    for number, (kind, flag) in enumerate([(k, f) for k in classes for f in (1, 0)], start=1):
        path = f"{kind:03d}.Some_Bird/Some_Bird_{number:04d}.jpg"
        members[f"{FOLDER}/images/{path}"] = encoded(20 * number)
        tables["images"] += f"{number} {path}\n"
        tables["image_class_labels"] += f"{number} {kind}\n"
        tables["train_test_split"] += f"{number} {flag}\n"
        role = "train" if kind <= 100 else "test"
        rows.append(Row(kind - 1, -1, "train" if flag else "test", role, 20 * number))
    tables["classes"] = "".join(f"{k} {k:03d}.Some_Bird\n" for k in range(1, 201))
    members |= {f"{FOLDER}/{name}.txt": text.encode() for name, text in tables.items()}
    tar(folder / "CUB_200_2011.tgz", members)
    return Small({}, rows)


LABELS = f"{FOLDER}/image_class_labels.txt"
MALFORMED = {
    "class 300": (
        edited(LABELS, b"2 1\n", b"2 300\n"),
        r"image_class_labels\.txt: image 2: .* '300', expected an integer from 1 to 200",
    ),
    "a label that is not a number": (edited(LABELS, b"2 1\n", b"2 wren\n"), r"image 2: .* 'wren'"),
    "no label": (edited(LABELS, b"2 1\n", b""), r"image_class_labels\.txt: .* '2'"),
    "no name": (edited(f"{FOLDER}/classes.txt", b"100 100.Some_Bird\n", b""), r"classes\.txt: .* '100'"),
    "no part": (edited(f"{FOLDER}/train_test_split.txt", b"2 0\n", b""), r"train_test_split\.txt: .* '2'"),
    "not UTF-8": (edited(f"{FOLDER}/images.txt", b"001.Some", b"001.\xff\xfe"), r"images\.txt: .* UTF-8"),
}
