"""SMILES: boiling points of straight alkanes, alcohols and amines, in degrees Celsius."""

import numpy as np

import luthier as lt

# Approximate values, for chains of 1, 2, ... carbon atoms.
alkanes = [-161, -89, -42, 0, 36, 69, 98, 126, 151, 174]
alcohols = [65, 78, 97, 118, 138, 157, 176, 195, 214, 231]
amines = [-6, 17, 48, 78, 104, 131, 155, 177, 201, 220]
molecules, boiling = [], []
for ending, values in (("", alkanes), ("O", alcohols), ("N", amines)):
    for carbons, value in enumerate(values, 1):
        molecules.append("C" * carbons + ending)
        boiling.append(value)
molecules, boiling = np.array(molecules), np.array(boiling, dtype=float)

# Chains of 4 and 7 atoms are left out, and asked for.
out = np.array([smiles.count("C") in (4, 7) for smiles in molecules])
model = lt.GPRegressor("ssk(smiles, units=chars, order=3)")
model.fit(molecules[~out], boiling[~out])
mean, sd = model.predict(molecules[out], return_std=True)
for smiles, m, s, true in zip(molecules[out], mean, sd, boiling[out]):
    print(f"{smiles:9s} predicted {m:5.0f} +- {s:3.0f}, true {true:4.0f}")

error = np.sqrt(np.mean((mean - boiling[out]) ** 2))
print(f"root mean square error {error:.1f} degrees")
assert error < 20
