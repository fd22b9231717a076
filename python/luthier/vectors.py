"""Word vectors: a file, or words with their numbers in memory."""

import os
from collections.abc import Mapping
from ctypes import c_char_p, c_size_t

import numpy as np

from ._context import Owned
from ._library import lib
from .errors import Error

KEEP = {"used": 0, "none": 1, "all": 2}


def _parts(vectors):
    """(words, numbers) of vectors in memory; None of a file."""
    if isinstance(vectors, Mapping):
        return list(vectors), list(vectors.values())
    if isinstance(vectors, tuple) and len(vectors) == 2:
        return vectors
    if hasattr(vectors, "index_to_key") and hasattr(vectors, "vectors"):  # as gensim has them
        return vectors.index_to_key, vectors.vectors
    return None


def path_of(vectors):
    """The path of a file, as C wants it."""
    if vectors is None:
        return None
    try:
        return os.fsencode(vectors)
    except TypeError:
        raise Error("vectors wants the path of a file, a dict {word: numbers} or a pair (words, "
                    f"matrix), not {_shown(vectors)}") from None


def _shown(vectors):
    text = repr(vectors)
    return text if len(text) <= 80 else text[:77] + "..."


def _matrix(numbers):
    try:
        with np.errstate(over="ignore"):
            matrix = np.ascontiguousarray(numbers, dtype=np.float32)
    except (TypeError, ValueError):
        matrix = None
    if matrix is None or matrix.ndim != 2:
        raise Error("vectors wants numbers for each word, as many for each as for the others")
    return matrix


def _words(words, count):
    words = list(words)
    if not all(isinstance(word, str) for word in words):
        wrong = next(word for word in words if not isinstance(word, str))
        raise Error(f"vectors wants words that are strings, not {_shown(wrong)}")
    if len(words) != count:
        raise Error(f"vectors has {len(words)} words, but numbers for {count}")
    try:
        return [word.encode() for word in words]
    except UnicodeEncodeError:
        raise Error("vectors has a word with half of a surrogate pair") from None


def table(vectors, context):
    """Vectors in memory as an object of the C library, which copies them; None of a file."""
    parts = _parts(vectors)
    if parts is None:
        return None
    matrix = _matrix(parts[1] if len(parts[1]) else np.zeros((0, 1)))
    words = _words(parts[0], len(matrix))
    pointer = context.create(
        lib.lth_word_vectors_create, context.pointer, (c_char_p * len(words))(*words),
        (c_size_t * len(words))(*map(len, words)), len(words), matrix.shape[1], matrix.ctypes.data)
    return Owned(pointer, lib.lth_word_vectors_free)


def give(vectors, encoder, context):
    """Vectors for every word that an encoder has seen so far."""
    made = table(vectors, context)
    if made is not None:
        context.call(lib.lth_encoder_use_vectors, encoder.pointer, made.pointer)
    else:
        context.call(lib.lth_encoder_read_vectors, encoder.pointer, path_of(vectors), long=True,
                     in_memory=False)


def same(a, b):
    """Whether two values of `vectors` say the same."""
    if a is b:
        return True
    one, other = _parts(a), _parts(b)
    if one is None or other is None:
        return one is other and a == b
    return list(one[0]) == list(other[0]) and np.array_equal(_matrix(one[1]), _matrix(other[1]))


def described(vectors):
    """As it stands in a repr."""
    parts = _parts(vectors)
    return repr(vectors) if parts is None else f"<{len(parts[0])} words>"
