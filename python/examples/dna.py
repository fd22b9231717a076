"""DNA: strings that hide a motif, sometimes with a base too many in it."""

import numpy as np

import luthier as lt

rng = np.random.default_rng(1)


def sequence(with_motif):
    bases = rng.choice(list("ACGT"), 40)
    if with_motif:
        motif = list("TATAAT")
        if rng.random() < 0.5:
            motif.insert(3, rng.choice(list("ACGT")))
        at = rng.integers(0, 40 - len(motif))
        bases[at:at + len(motif)] = motif
    return "".join(bases)


labels = np.arange(240) % 2
strings = np.array([sequence(label) for label in labels])
train, test = slice(0, 160), slice(160, 240)

# A spectrum kernel counts exact pieces; the string kernel also those with gaps.
for name, kernel in (("3-mers", "normalize(linear(ngrams(dna, n=3)))"),
                     ("ssk", "normalize(ssk(dna, units=chars, order=6, gap=0.2, "
                             "weights=[0,0,0,1,1,1]))")):
    model = lt.SVC(kernel, C=[0.3, 1, 3, 10]).fit(strings[train], labels[train])
    accuracy = model.score(strings[test], labels[test])
    print(f"{name}: accuracy {accuracy:.2f}, {model.n_support_rows_} support rows")

assert accuracy > 0.7
