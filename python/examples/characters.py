"""Characters: from which of three made-up languages is a word?"""

import numpy as np
from itertools import product

import luthier as lt

syllables = {"northish": ["ska", "grim", "vik", "thor", "und", "fjel"],
             "southish": ["bella", "zio", "ra", "coli", "etta", "mano"],
             "eastish": ["tsu", "kami", "ro", "shi", "nako", "yuki"]}
words, labels = [], []
for language, parts in syllables.items():
    for pair in product(parts, repeat=2):
        words.append("".join(pair))
        labels.append(language)

order = np.random.default_rng(1).permutation(len(words))
train, test = order[:60], order[60:]
words, labels = np.array(words), np.array(labels)

kernel = "normalize(ssk(word, units=chars, order=3))"
svm = lt.SVC(kernel, C=[1, 10], grid={"ssk.gap": [0.2, 0.5]}).fit(words[train], labels[train])
gp = lt.GPClassifier(kernel).fit(words[train], labels[train])
print(f"SVM: accuracy {svm.score(words[test], labels[test]):.2f}, gap "
      f"{svm.hyperparameters_['ssk.gap']}, C {svm.best_params_['C']}")
print(f"GP: accuracy {gp.score(words[test], labels[test]):.2f}")
for word in ("grimvik", "collina", "yamashi"):
    p = dict(zip(gp.classes_.tolist(), gp.predict_proba([word])[0].round(2).tolist()))
    print(word, p)

assert svm.score(words[test], labels[test]) > 0.9
