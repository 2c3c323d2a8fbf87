from dml.miners import build

ALWAYS = True


def reference(naive, a, settings):
    return naive.mates(a)


def test_frequencies(tools):
    embeddings, labels = tools.random_batch(0)
    counts = tools.count(build(positives="random", negatives="hard"), embeddings, labels, 1500, column=1)
    naive = tools.Naive(embeddings, labels)
    support = tools.uniform_over([naive.mates(a) for a in range(len(labels))], len(labels))
    assert tools.chi_square(counts, support) > 1e-3
