#include "kernel/string/alignment_lanes.h"

#include <math.h>
#include <string.h>

struct lth__aligner {
    const lth__letters *engine; /* NULL = too many letters: one pair after the other */
    const lth__scoring *scoring;
    bool slopes;
    size_t slots;
    double *factor, *score; /* quads: see lth__align_job    */
    uint32_t *letter;       /* of the lanes                 */
    void *scratch, *room;   /* of the engine, and for one pair */
    size_t scratch_bytes;
};

void lth__aligner_free(lth__aligner *a) {
    if (!a) return;
    lth__free(a->factor);
    lth__free(a->letter);
    lth__free(a->scratch);
    lth__free(a->room);
    lth__free(a);
}

size_t lth__aligner_lanes(const lth__aligner *a) {
    return a->engine ? a->engine->lanes : 1;
}

/* The last letter stands for none: its factors are 0. */
static void fill_tables(lth__aligner *a, size_t letters) {
    const lth__scoring *s = a->scoring;
    double same = exp(s->beta * s->same), other = exp(s->beta * s->other);
    for (size_t x = 0; x < letters; x++) {
        for (size_t y = 0; y < letters; y++) {
            size_t at = (x / 4 * a->slots + y) * 4 + x % 4, from = x * LTH__MOST_LETTERS + y;
            a->factor[at] = !s->identity ? s->factor[from] : x == y ? same : other;
            a->score[at] = !s->identity ? s->score[from] : x == y ? s->same : s->other;
        }
    }
}

static lth_status make_tables(lth__aligner *a, size_t letters, size_t longest, lth_error *err) {
    size_t size = (a->slots + 3) / 4 * 4 * a->slots;
    size_t places = (longest + 2 * LTH__ALIGN_PAD) * a->engine->lanes;
    a->factor = lth__alloc(2 * size, sizeof *a->factor);
    a->letter = lth__alloc(places, sizeof *a->letter);
    if (!a->factor || !a->letter) return lth__fail_memory(err, places * sizeof *a->letter);
    a->score = a->factor + size;
    memset(a->factor, 0, 2 * size * sizeof *a->factor);
    fill_tables(a, letters);
    return LTH_OK;
}

lth_status lth__aligner_make(const lth__engine *engine, const lth__scoring *s, size_t letters,
                             size_t longest, bool slopes, lth__aligner **out, lth_error *err) {
    lth__aligner *a = lth__calloc(1, sizeof *a);
    if (!a) return lth__fail_memory(err, sizeof *a);
    *a = (lth__aligner){.scoring = s, .slopes = slopes, .slots = letters + 1};
    if (a->slots <= LTH__ALIGN_LETTERS) a->engine = engine->letters;
    size_t bytes = lth__alignments_room(longest);
    a->room = lth__alloc(bytes + 1, 1);
    lth_status status = a->room ? LTH_OK : lth__fail_memory(err, bytes);
    if (status == LTH_OK && a->engine) status = make_tables(a, letters, longest, err);
    if (status == LTH_OK)
        *out = a;
    else
        lth__aligner_free(a);
    return status;
}

bool lth__aligner_swaps(lth__letters_of one, lth__letters_of other) {
    if (one.length != other.length) return one.length > other.length;
    return memcmp(one.letter, other.letter, one.length * sizeof *one.letter) > 0;
}

/* Side by side; returns the longest. */
static size_t lay_side_by_side(lth__aligner *a, const lth__letters_of *other, size_t count) {
    size_t lanes = a->engine->lanes, longest = 0;
    for (size_t lane = 0; lane < count; lane++)
        if (other[lane].length > longest) longest = other[lane].length;
    for (size_t i = 0; i < (longest + 2 * LTH__ALIGN_PAD) * lanes; i++)
        a->letter[i] = (uint32_t)(a->slots - 1);
    for (size_t lane = 0; lane < count; lane++) {
        uint32_t *to = a->letter + LTH__ALIGN_PAD * lanes + lane;
        for (size_t i = 0; i < other[lane].length; i++) to[i * lanes] = other[lane].letter[i];
    }
    return longest;
}

static lth__alignments put_together(const lth__scoring *s, double sum, int level, double score,
                                    double runs, double skipped) {
    return (lth__alignments){.log_sum = log(sum) + level * LTH__ALIGN_LEVEL * log(2),
                             .beta = score - s->open * runs - s->extend * skipped,
                             .open = -s->beta * runs,
                             .extend = -s->beta * skipped};
}

static lth_status make_scratch(lth__aligner *a, lth__align_job *job, lth_error *err) {
    size_t bytes = a->engine->align_scratch(job, a->slopes);
    if (bytes > a->scratch_bytes) {
        lth__free(a->scratch);
        a->scratch_bytes = 0;
        a->scratch = lth__alloc(bytes, 1);
        if (!a->scratch) return lth__fail_memory(err, bytes);
        a->scratch_bytes = bytes;
    }
    job->scratch = a->scratch;
    return LTH_OK;
}

static bool stops(const void *ctx) {
    return lth__parallel_ask(ctx) != LTH_OK;
}

lth_status lth__aligner_sum(lth__aligner *a, lth__letters_of one, const lth__letters_of *other,
                            size_t count, bool swapped, lth__alignments *out, lth_error *err) {
    const lth__scoring *s = a->scoring;
    double sum[LTH__MAX_LANES], slope[3 * LTH__MAX_LANES] = {0};
    int level[LTH__MAX_LANES] = {0};
    size_t lanes = lth__aligner_lanes(a);
    if (a->engine) {
        lth__align_job job = {.rows = one.length,
                              .cols = lay_side_by_side(a, other, count),
                              .mirrored = swapped,
                              .shared = one.letter,
                              .letter = a->letter,
                              .factor = a->factor,
                              .score = a->score,
                              .slots = a->slots,
                              .open = exp(-s->beta * s->open),
                              .extend = exp(-s->beta * s->extend),
                              .stops = s->ctx ? stops : NULL,
                              .user = s->ctx};
        LTH_TRY(make_scratch(a, &job, err));
        a->engine->align(&job, sum, level, a->slopes ? slope : NULL);
    }
    for (size_t i = 0; i < count; i++) {
        if (!a->engine || level[i] == LTH__ALIGN_BEYOND)
            lth__alignments_sum(s, one.letter, one.length, other[i].letter, other[i].length,
                                a->slopes, a->room, &out[i]);
        else
            out[i] =
                put_together(s, sum[i], level[i], slope[i], slope[lanes + i], slope[2 * lanes + i]);
    }
    return s->ctx ? lth__parallel_ask(s->ctx) : LTH_OK;
}
