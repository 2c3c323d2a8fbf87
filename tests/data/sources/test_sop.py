"""Stanford Online Products: text tables of products and kinds."""

from small_archives import Row, Small, edited, encoded, zipped

FOLDER = "Stanford_Online_Products"


def make(folder):
    members, rows = {}, []
    lists = {"train": [(1, 1, "bicycle"), (1, 1, "bicycle"), (2, 12, "toaster")], "test": [(11319, 1, "bicycle")]}
    number = 0
    for part, entries in lists.items():
        text = "image_id class_id super_class_id path\n"
        for product, kind, name in entries:
            number += 1
            path = f"{name}_final/{111000000000 + product}_{number}.JPG"
            members[f"{FOLDER}/{path}"] = encoded(40 * number)
            text += f"{number} {product} {kind} {path}\n"
            rows.append(Row(product - 1, kind - 1, part, part, 40 * number))
        members[f"{FOLDER}/Ebay_{part}.txt"] = text.encode()
    zipped(folder / f"{FOLDER}.zip", members)
    return Small({}, rows)


MALFORMED = {
    "product 22635": (
        edited(f"{FOLDER}/Ebay_test.txt", b" 11319 ", b" 22635 "),
        r"Ebay_test\.txt: image 4: class_id: .* '22635', expected an integer from 1 to 22634",
    ),
    "kind 13": (
        edited(f"{FOLDER}/Ebay_train.txt", b" 12 ", b" 13 "),
        r"Ebay_train\.txt: image 3: super_class_id: .* '13', expected an integer from 1 to 12",
    ),
}
