"""Parse trees: which kinds of phrases matter is learned, one decay for each grammar symbol."""

from itertools import product

import numpy as np

import luthier as lt

subjects = ["(NP (DT the) (NN dog))", "(NP (DT a) (JJ old) (NN man))", "(NP (PRP she))"]
verbs = ["(VP (VBD slept))", "(VP (VBD saw) (NP (DT the) (NN moon)))",
         "(VP (VBD said) (SBAR (IN that) (S (NP (PRP it)) (VP (VBD rained)))))"]
ends = ["", " (ADVP (RB quietly))", " (PP (IN at) (NP (NN night)))"]
trees = [f"(S {s} {v}{e})" for s, v, e in product(subjects, verbs, ends)]

# The score counts embedded clauses and adverbs, and nothing else.
rng = np.random.default_rng(1)
y = np.array([3.0 * t.count("SBAR") + 1.0 * t.count("ADVP") for t in trees])
y += rng.normal(0, 0.2, len(y))

model = lt.GPRegressor("sstk(tree, symbols=all)").fit(trees, y)
plain = lt.GPRegressor("sstk(tree)").fit(trees, y)
print(f"log evidence: {plain.log_evidence_:.1f} with one decay, {model.log_evidence_:.1f} with "
      f"one for each of {len(model.symbols_)} symbols")
for symbol in model.symbols_[:5]:
    print(f"{symbol['symbol']:5s} decay {symbol['decay']:.3f} ({symbol['nodes']} nodes)")
mean, sd = model.predict(["(S (NP (PRP he)) (VP (VBD slept)) (ADVP (RB quietly)))"],
                         return_std=True)
print(f"a sentence with an adverb: {mean[0]:.1f} +- {sd[0]:.1f}")

assert model.log_evidence_ > plain.log_evidence_
