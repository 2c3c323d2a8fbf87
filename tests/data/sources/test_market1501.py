"""Market-1501: persons and cameras in the names of files."""

from small_archives import Row, Small, encoded, zipped

FOLDER = "Market-1501-v15.09.15"


def make(folder):
    names = {
        "bounding_box_train": [("0002_c1s1_000451_03", 2, 0, "train"), ("0007_c6s3_077392_04", 7, 5, "train")],
        "query": [("0001_c1s1_001051_00", 1, 0, "query")],
        "bounding_box_test": [
            ("-1_c1s1_000401_03", 1502, 0, "unused"),
            ("0000_c1s1_000151_01", 0, 0, "gallery"),
            ("0001_c2s1_000301_00", 1, 1, "gallery"),
        ],
    }
    members, rows = {f"{FOLDER}/bounding_box_test/Thumbs.db": b"x"}, []
    for place, entries in names.items():
        part = {"bounding_box_train": "train", "bounding_box_test": "gallery"}.get(place, place)
        for name, person, camera, role in entries:
            value = 25 * (len(rows) + 1)
            members[f"{FOLDER}/{place}/{name}.jpg"] = encoded(value, size=(64, 128))
            rows.append(Row(person, -1, part, role, value, camera))
    zipped(folder / f"{FOLDER}.zip", members)
    return Small({}, rows)


def named(name):
    return lambda raw: (raw / FOLDER / "query" / name).write_bytes(encoded(1))


MALFORMED = {
    "person 1502": (named("1502_c1s1_1_00.jpg"), r"1502_c1s1_1_00\.jpg: .* '1502', expected an integer from 0 to 1501"),
    "camera 7": (named("0001_c7s1_1_00.jpg"), r"0001_c7s1_1_00\.jpg: expected a name such as"),
    "no person": (named("cat.jpg"), r"cat\.jpg: expected a name such as 0002_c1s1"),
}
