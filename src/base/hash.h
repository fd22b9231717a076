/* A hash of bytes: for tables in memory, and to tell data apart that were not meant to be alike. */
#ifndef LTH_HASH_H
#define LTH_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Multiply to 128 bits and fold: every input bit reaches every output bit. */
static inline uint64_t lth__hash_mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Goes on from `seed`, 0 or the hash of what came before. */
static inline uint64_t lth__hash(uint64_t seed, const void *bytes, size_t length) {
    const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd6e8feb86659fd93u;
    const char *at = bytes;
    uint64_t hash = length ^ k1 ^ seed, word;
    while (length >= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = lth__hash_mix(hash ^ word, k0);
        at += sizeof word;
        length -= sizeof word;
    }
    word = 0;
    memcpy(&word, at, length);
    return lth__hash_mix(lth__hash_mix(hash ^ word, k0) ^ k1, k0);
}

#endif
