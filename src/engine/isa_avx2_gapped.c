#define BYTES 32
#define GAPPED lth__gapped_avx2
#define WEIGHED lth__gapped_weigh_avx2
#include "engine/gapped_count.h"

#include <immintrin.h>

/* The worth of each byte, from a table in both halves; summed over eight bytes. */
static inline __m256i sum_worths(__m256i table, bytes all) {
    return _mm256_sad_epu8(_mm256_shuffle_epi8(table, (__m256i)all), _mm256_setzero_si256());
}

lth__gapped_sum lth__gapped_sum_avx2;

/* As sweep(), with one look-up where that compares with each kind. */
uint64_t lth__gapped_sum_avx2(const lth__gapped_job *job, const uint8_t *worth) {
    ptrdiff_t last = (ptrdiff_t)job->width - 1;
    ptrdiff_t rows = (ptrdiff_t)job->rows - last, cols = (ptrdiff_t)job->cols - last;
    const uint8_t *x = job->row, *inside = mark_columns(job, cols);
    __m256i sum = _mm256_setzero_si256();
    __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)worth));
    for (ptrdiff_t d = 1 - rows; d < cols; d += BYTES) {
        ptrdiff_t i = first_row(d), end = cols - d < rows ? cols - d : rows;
        const uint8_t *y = job->col + d;
        bytes same = begin(x + i, y + i, last);
        for (; i < end; i++) {
            bytes all = same - equal(load(y + i + last), all_of(x[i + last]));
            same = all + equal(load(y + i), all_of(x[i]));
            sum = _mm256_add_epi64(sum, sum_worths(table, all & load(inside + d + i)));
        }
    }
    uint64_t part[4];
    memcpy(part, &sum, sizeof part);
    return part[0] + part[1] + part[2] + part[3];
}
