/* Nearness of words in WordNet: from the meanings of each word, breadth first along the links, as
 * far as is asked for. Every meaning on the way tells which words have it. */
#include "data/wordnet.h"

#include <stdlib.h>
#include <string.h>

#include "data/wordnet_reader.h"

const char *lth__wordnet_folder(void) {
    const char *folder = getenv("WNSEARCHDIR");
    return folder && *folder ? folder : "/usr/share/wordnet";
}

void lth__neighbours_free(lth__neighbours *n) {
    lth__free(n->start);
    lth__free(n->word);
    lth__free(n->distance);
    *n = (lth__neighbours){0};
}

/* ---- Lists by number ---- */

/* Of number i: to[first[i]] .. to[first[i + 1] - 1]. */
typedef struct lists {
    size_t *first;
    uint32_t *to;
} lists;

static void free_lists(lists *l) {
    lth__free(l->first);
    lth__free(l->to);
}

/* From pairs (a, b): lists of b by a, or with from = 1 of a by b, or with `both` of both. */
static lth_status make_lists(const lth__pairs *p, size_t numbers, int from, bool both, lists *out,
                             lth_error *err) {
    size_t entries = p->count * (both ? 2 : 1);
    out->first = lth__calloc(numbers + 2, sizeof *out->first);
    out->to = lth__alloc(entries, sizeof *out->to);
    if (!out->first || !out->to) return lth__fail_memory(err, entries * sizeof *out->to);
    size_t *at = out->first + 1; /* becomes the first of the next while the lists are filled */
    for (int side = from; side < (both ? 2 : from + 1); side++) {
        for (size_t i = 0; i < p->count; i++) at[p->at[i][side] + 1]++;
    }
    for (size_t i = 0; i < numbers; i++) at[i + 1] += at[i];
    for (int side = from; side < (both ? 2 : from + 1); side++) {
        for (size_t i = 0; i < p->count; i++) out->to[at[p->at[i][side]]++] = p->at[i][1 - side];
    }
    return LTH_OK;
}

/* ---- Search ---- */

typedef struct search {
    size_t words, synsets, farthest;
    lists links;          /* by synset, up and down             */
    lists synsets_of;     /* by word                            */
    lists words_of;       /* by synset                          */
    uint32_t *word_met;   /* for which word it was met last, +1 */
    uint32_t *synset_met; /* likewise                           */
    uint32_t *queue;      /* synsets                            */
    uint64_t *near;       /* of the word at hand: number << 8 | distance */
    size_t count;
    lth__neighbours out;
    size_t word_capacity, distance_capacity;
} search;

static void free_search(search *s) {
    free_lists(&s->links);
    free_lists(&s->synsets_of);
    free_lists(&s->words_of);
    lth__free(s->word_met);
    lth__free(s->synset_met);
    lth__free(s->queue);
    lth__free(s->near);
}

static lth_status set_up(search *s, const lth__wordnet *w, lth_error *err) {
    LTH_TRY(make_lists(&w->links, w->synsets, 0, true, &s->links, err));
    LTH_TRY(make_lists(&w->senses, s->words, 0, false, &s->synsets_of, err));
    LTH_TRY(make_lists(&w->senses, w->synsets, 1, false, &s->words_of, err));
    s->synsets = w->synsets;
    s->word_met = lth__calloc(s->words, sizeof *s->word_met);
    s->synset_met = lth__calloc(s->synsets, sizeof *s->synset_met);
    s->queue = lth__alloc(s->synsets, sizeof *s->queue);
    s->near = lth__alloc(s->words, sizeof *s->near);
    s->out.start = lth__calloc(s->words + 1, sizeof *s->out.start);
    s->out.words = s->words;
    if (s->word_met && s->synset_met && s->queue && s->near && s->out.start) return LTH_OK;
    return lth__fail_memory(err, s->synsets * sizeof *s->queue);
}

static void meet_synset(search *s, uint32_t synset, size_t word, size_t *end) {
    if (s->synset_met[synset] == word + 1) return;
    s->synset_met[synset] = (uint32_t)word + 1;
    s->queue[(*end)++] = synset;
}

static void meet_words(search *s, uint32_t synset, size_t word, size_t distance) {
    for (size_t i = s->words_of.first[synset]; i < s->words_of.first[synset + 1]; i++) {
        uint32_t other = s->words_of.to[i];
        if (s->word_met[other] == word + 1) continue;
        s->word_met[other] = (uint32_t)word + 1;
        s->near[s->count++] = (uint64_t)other << 8 | distance;
    }
}

/* The queue holds one distance after the other; `level` is where the next begins. */
static void search_from(search *s, size_t word) {
    size_t end = 0, distance = 0;
    s->count = 0;
    s->word_met[word] = (uint32_t)word + 1;
    for (size_t i = s->synsets_of.first[word]; i < s->synsets_of.first[word + 1]; i++)
        meet_synset(s, s->synsets_of.to[i], word, &end);
    for (size_t at = 0, level = end; at < end; at++) {
        if (at == level) {
            distance++;
            level = end;
        }
        uint32_t synset = s->queue[at];
        meet_words(s, synset, word, distance);
        if (distance == s->farthest) continue;
        for (size_t i = s->links.first[synset]; i < s->links.first[synset + 1]; i++)
            meet_synset(s, s->links.to[i], word, &end);
    }
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static lth_status keep_neighbours(search *s, size_t word, lth_error *err) {
    lth__neighbours *n = &s->out;
    size_t used = (size_t)n->start[word], need = used + s->count;
    if (!lth__reserve((void **)&n->word, &s->word_capacity, need, sizeof *n->word) ||
        !lth__reserve((void **)&n->distance, &s->distance_capacity, need, sizeof *n->distance))
        return lth__fail_memory(err, need * (sizeof *n->word + sizeof *n->distance));
    if (s->count > 0) qsort(s->near, s->count, sizeof *s->near, by_number);
    for (size_t i = 0; i < s->count; i++) {
        n->word[used + i] = (uint32_t)(s->near[i] >> 8);
        n->distance[used + i] = (uint8_t)(s->near[i] & 255);
    }
    n->start[word + 1] = need;
    return LTH_OK;
}

static lth_status search_all(search *s, const lth__wordnet *w, lth_error *err) {
    LTH_TRY(set_up(s, w, err));
    for (size_t word = 0; word < s->words; word++) {
        search_from(s, word);
        LTH_TRY(keep_neighbours(s, word, err));
    }
    return LTH_OK;
}

lth_status lth__wordnet_neighbours(const lth__relay *relay, const char *folder,
                                   const lth__symbols *vocabulary, size_t words, const bool *skip,
                                   size_t farthest, lth__neighbours *out, lth_error *err) {
    lth__wordnet w = {0};
    if (farthest > LTH__WORDNET_FARTHEST)
        return lth__fail(err, LTH_EARG, "no search in WordNet goes farther than %d links",
                         LTH__WORDNET_FARTHEST);
    LTH_TRY(lth__wordnet_read(relay, folder, vocabulary, words, skip, &w, err));
    search s = {.words = words, .farthest = farthest};
    lth_status status = search_all(&s, &w, err);
    lth__wordnet_free(&w);
    free_search(&s);
    if (status == LTH_OK)
        *out = s.out;
    else
        lth__neighbours_free(&s.out);
    return status;
}
