/* luthier: kernels over strings and trees, learned from data.
 *
 * A kernel expression such as "normalize(ssk(text, order=5))" says how two rows of a table are
 * compared. luthier reads tables, encodes their columns once, fills Gram matrices, and pulls any
 * weighting of a Gram matrix back to the gradient of the kernel's hyperparameters.
 *
 *     lth_ctx *ctx;          lth_ctx_create(NULL, &ctx, &err);
 *     lth_table *table;      lth_table_read(ctx, "reviews.tsv", NULL, &table, &err);
 *     lth_kernel *kernel;    lth_kernel_parse(ctx, "normalize(ssk(text))", &kernel, &err);
 *     lth_encoder *encoder;  lth_encoder_create(ctx, kernel, &encoder, &err);
 *     lth_items *items;      lth_encode(encoder, table, &items, &err);
 *     size_t n = lth_items_count(items);
 *     double *K = malloc(n * n * sizeof *K);
 *     lth_gram(kernel, items, NULL, K, n, &err);
 *
 * Conventions
 * - Every call that can fail returns lth_status: 0 is success, negative is failure. Results come
 *   through out-pointers, which are written only on success.
 * - The last argument `err` may be NULL; otherwise it receives the reason of a failure.
 * - create, read, parse, load and encode return objects that the caller frees; free(NULL) is a
 *   no-op, and other calls want no NULL for an object. Borrowed views (const char *, const
 *   lth_param *) live until their owner is changed or freed.
 * - An object borrows what it was made from: free items before encoders, encoders before kernels,
 *   and the context last. Arguments of a call are otherwise borrowed for that call only.
 * - What is asked for by number and is not there, because the number is too large or because this
 *   kind of object has no such thing, is NULL, 0, false, NaN or LTH_NONE.
 * - Structs only ever grow at their end. Those that the library hands out are its own: only
 *   pointers to them cross the border. Those that the caller makes come with their size: options
 *   begin with it, set by their _init(), and for others it is the argument behind them, of arrays
 *   that of one entry: `columns, sizeof *columns, count`. lth_error stays as it is.
 * - Text is UTF-8, passed as pointer and length in bytes; no closing NUL is needed.
 * - The library never prints or exits. It has no state of its own outside these objects; when it
 *   first needs OpenBLAS it loads it, and for that moment the environment is a copy with
 *   OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS in it. Other threads may call getenv() meanwhile.
 *
 * Threads
 * - A context serves one call at a time: one that is given the context, or a kernel, an encoder or
 *   items that were made with it. Two contexts may be used by two threads.
 * - Tables, validations and reasons do not change once they are made: any number of calls may read
 *   one of them at the same time.
 * - A model keeps a context of its own. Calls that take a const model may run at the same time;
 *   those that take it without const want it for themselves.
 * - What takes no object (metrics, folds, arrays on disk) may be called at any time.
 *
 * What may change: from version 1.0 on, the first part of this file changes only by additions. What
 * stands under "May change", at its end, is not promised.
 */
#ifndef LTH_H
#define LTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LTH_API __attribute__((visibility("default")))
#define LTH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define LTH_API
#define LTH_PRINTF(fmt, args)
#endif

/* ==== Stable ================================================================================== */

/* ---- Version ------------------------------------------------------------------------------- */

#define LTH_VERSION_MAJOR 0
#define LTH_VERSION_MINOR 1
#define LTH_VERSION_PATCH 0

/* "0.1.0" of the library that is running. Static. */
LTH_API const char *lth_version(void);

/* ---- Status and errors --------------------------------------------------------------------- */

#define LTH_STATUS_MAP(X)                                                                          \
    X(OK, 0, "success")                                                                            \
    X(ENOMEM, -1, "out of memory")                                                                 \
    X(EARG, -2, "invalid argument")                                                                \
    X(EFORMAT, -3, "malformed input")                                                              \
    X(ECANCELED, -4, "canceled")                                                                   \
    X(EIO, -5, "input or output failed")                                                           \
    X(ENUMERIC, -6, "a number overflowed or is not finite")                                        \
    X(EUNSUPPORTED, -7, "not supported here")

typedef enum lth_status {
#define LTH_STATUS_ENUM(name, value, text) LTH_##name = value,
    LTH_STATUS_MAP(LTH_STATUS_ENUM)
#undef LTH_STATUS_ENUM
} lth_status;

/* The text of a status: "out of memory". Static. */
LTH_API const char *lth_status_text(lth_status status);

/* Why a call failed. `line` and `column` count from 1 and are 0 when they do not apply; `file` is
 * the name of the input that was being read, "" when there is none. `message` names neither, so a
 * caller can print "file:line:column: message". A string that does not fit is cut. */
typedef struct lth_error {
    lth_status status;
    size_t line, column;
    char file[160];
    char message[352];
} lth_error;

/* ---- Context ------------------------------------------------------------------------------- */

typedef struct lth_ctx lth_ctx;

typedef enum lth_log_level { LTH_LOG_WARNING = 1, LTH_LOG_INFO = 2 } lth_log_level;

/* Receives one line of text without a newline. Called from the thread that made the call. */
typedef void lth_log_fn(void *user, lth_log_level level, const char *text);

/* Told how much of the work in hand is done, `done` out of `total` (in any unit), a few times a
 * second and from any worker thread, one at a time. Where there is nothing to show, inside of a fit
 * or a prediction, `what` is "" and `total` 0: it is only asked whether to go on. A non-zero return
 * cancels the call, which then fails with LTH_ECANCELED. A model keeps the function for as long as
 * it lives. */
typedef int lth_progress_fn(void *user, const char *what, double done, double total);

typedef enum lth_precision { LTH_F64 = 0, LTH_F32 = 1 } lth_precision;

/* Skipping of string positions that cannot match: AUTO decides by a sample of the data. */
typedef enum lth_dropping { LTH_DROP_AUTO = 0, LTH_DROP_ON = 1, LTH_DROP_OFF = 2 } lth_dropping;

typedef struct lth_ctx_options {
    size_t size;               /* set by lth_ctx_options_init()                                 */
    unsigned threads;          /* worker threads; 0 = all cores this process may use; default 1 */
    const char *isa;           /* "portable", "avx2", "avx512"; of ARM "neon", "sve256";
                                  NULL = LTH_ISA, else the best                                 */
    lth_precision precision;   /* arithmetic inside string kernels; results are always double   */
    lth_dropping dropping;     /* default AUTO                                                  */
    uint64_t seed;             /* of everything random; default 1                               */
    lth_log_fn *log;           /* warnings and notes; NULL = none                               */
    lth_progress_fn *progress; /* NULL = none                                                   */
    void *user;                /* handed to log and progress                                    */
    const char *device;        /* "cpu" (NULL), "cuda", "cuda:N", "cuda:N,M" (several GPUs);
                                  "auto" = a GPU where there is one and the work is large      */
    size_t device_memory;      /* bytes of its memory to use at most; 0 = what is free          */
    const char *cluster;       /* "none" (NULL), "mpi": work is shared by all processes that mpirun
                                  or srun started; "scalapack": with its dense algebra; "auto" =
                                  mpi where there are several. See docs/cluster.md              */
} lth_ctx_options;

LTH_API void lth_ctx_options_init(lth_ctx_options *options);

/* `options` NULL = defaults. An instruction set this CPU lacks is an error, not a fallback. */
LTH_API lth_status lth_ctx_create(const lth_ctx_options *options, lth_ctx **out, lth_error *err);
LTH_API void lth_ctx_free(lth_ctx *ctx);

/* The instruction set and thread count in use. Borrowed from the context. */
LTH_API const char *lth_ctx_isa(const lth_ctx *ctx);
LTH_API unsigned lth_ctx_threads(const lth_ctx *ctx);
/* What the device is called, "cpu" without one. */
LTH_API const char *lth_ctx_device(const lth_ctx *ctx);

/* The processes that share the work, of which this is the `rank`-th from 0: all of them make the
 * same calls with the same data. The first alone reads tables, vectors and models by name, and
 * writes models; a rank that fails makes the calls of the others fail too. 0 of 1 without a
 * cluster, which is called "none". */
LTH_API unsigned lth_ctx_rank(const lth_ctx *ctx, unsigned *ranks);
LTH_API const char *lth_ctx_cluster(const lth_ctx *ctx);
/* Tell the others that this rank is done, or has given up for a reason (NULL = none), and wait for
 * them. LTH_OK when all have done their work. Freeing the last context of a process does it too. */
LTH_API lth_status lth_ctx_leave(lth_ctx *ctx, const lth_error *why, lth_error *err);
/* The rank that a launcher gave this process, and of how many: 0 of 1 when it was started alone. */
LTH_API unsigned lth_launched_rank(unsigned *ranks);

/* The i-th instruction set this CPU can run, best first; NULL past the last. Static. */
LTH_API const char *lth_isa_available(size_t i);

/* ---- Tables -------------------------------------------------------------------------------- */

/* A table is rows of named columns of text. It is read once, in a stream, and packed. */
typedef struct lth_table lth_table;

typedef enum lth_table_format {
    LTH_TABLE_AUTO = 0, /* by extension, else TSV: .tsv .txt .csv .jsonl .ndjson .conllu .fa .fasta
                           .fna .faa .sst .klp .svmlight, and .gz after each; else SST where the
                           first line begins with "(" and a number                               */
    LTH_TABLE_TSV,      /* header line, tab separated, no quoting                                */
    LTH_TABLE_CSV,      /* RFC 4180 with a header line                                           */
    LTH_TABLE_JSONL,    /* one JSON object a line                                                */
    LTH_TABLE_CONLLU,   /* one row a sentence: its lines in the column "conllu", and a column for
                           each "# key = value" comment of the first sentence                    */
    LTH_TABLE_FASTA,    /* one row a record, of the columns "id", "description" and "sequence", and
                           one for each word key=value in the first record's description         */
    LTH_TABLE_SST,      /* one tree in brackets a line, such as (3 (2 It) (4 works)): the columns
                           "label" (of the root), "text" and "tree", in which X stands for labels
                           that are numbers                                                      */
    LTH_TABLE_KLP,      /* labels and parts such as |BT:name| (a b) |ET| on each line; the first
                           line names the columns                                                */
    LTH_TABLE_SVMLIGHT  /* SVM-light-TK, a label |BT| tree |ET| 7:1 |EV| on each line: the columns
                           "label", "tree", "features", "tree2" and so on                        */
} lth_table_format;

typedef struct lth_table_options {
    size_t size;                /* set by lth_table_options_init()                          */
    lth_table_format format;    /* default AUTO                                             */
    const char *const *columns; /* only these are kept; NULL = all                          */
    size_t column_count;        /* entries of `columns`                                     */
    const char *const *where;   /* "COL=VALUE[,VALUE...]": rows to keep must match each     */
    size_t where_count;         /* entries of `where`                                       */
    const char *optional;       /* a column that is kept too where there is one; NULL = none */
    const char *const *more;    /* tables whose rows come after those of the first, one after the
                                   other, of the same columns; rows count on                  */
    size_t more_count;          /* entries of `more`                                        */
    const char *file_column;    /* a column of this name more: which file a row is from, as the
                                   file's name without folder and extension; NULL = none     */
    const char *const *arrays;  /* "NAME=FILE": a .npy file of float64 or float32 in C order, with
                                   one row for each of the tables', counted on over all of them.
                                   n x d numbers are the columns NAME1..NAMEd (NAME_1..NAME_d
                                   when NAME ends with a digit), n numbers the column NAME. Where
                                   `columns` names some of an array's, it names all             */
    size_t array_count;         /* entries of `arrays`                                      */
    size_t max_row;             /* bytes of a row and of a line, at most; more is LTH_EFORMAT. 0 =
                                   2^28, in which the longest human chromosome fits          */
} lth_table_options;

LTH_API void lth_table_options_init(lth_table_options *options);

/* Read a table; "-" is standard input, and gzip data is recognised. `options` NULL = defaults.
 * A bad byte, a missing column or a row with too few fields is LTH_EFORMAT with file, line, column.
 */
LTH_API lth_status lth_table_read(lth_ctx *ctx, const char *path, const lth_table_options *options,
                                  lth_table **out, lth_error *err);

/* The same a slice at a time, for tables that are larger than memory: open, next until there is
 * none, close. What `options` points to stays the caller's until then.
 *
 * `next` makes a table of the next `rows` rows that are kept (fewer at the end, and when they are
 * long, but then a multiple of 512), or NULL after the last one; it is the caller's. Lines and
 * numbers of rows are those of the file. After a failure the stream can only be closed.
 * Slices of a multiple of 512 rows are predicted as in one table, bit for bit (sstk: nearly). */
typedef struct lth_table_stream lth_table_stream;
LTH_API lth_status lth_table_stream_open(lth_ctx *ctx, const char *path,
                                         const lth_table_options *options, lth_table_stream **out,
                                         lth_error *err);
LTH_API lth_status lth_table_stream_next(lth_table_stream *stream, size_t rows, lth_table **out,
                                         lth_error *err);
LTH_API void lth_table_stream_close(lth_table_stream *stream);

/* A one-column table made from memory: `count` texts, text[i] of length[i] bytes (NULL lengths =
 * NUL-terminated). The texts are copied. */
LTH_API lth_status lth_table_from_texts(lth_ctx *ctx, const char *column, const char *const *text,
                                        const size_t *length, size_t count, lth_table **out,
                                        lth_error *err);

/* A column in memory: of texts, of numbers, or of sequences of vectors (one for each unit of a
 * text, by any encoder: they are what `sim=` compares, and the units need no names). Just one of
 * `text`, `numbers` and `vectors` is not NULL, also when there are no rows. */
typedef struct lth_column {
    const char *name;
    const char *const *text; /* one for each row, or NULL                                         */
    const size_t *length;    /* of the texts, in bytes; NULL = they end with NUL                  */
    const double *numbers;   /* row i has numbers[i * stride], or NULL                            */
    size_t stride;           /* 0 counts as 1                                                     */
    const float *const *vectors; /* row i has units[i] vectors of `dimension` numbers, or NULL */
    const size_t *units;
    size_t dimension;
} lth_column;

/* A table of such columns, one at least, of any number of rows. Texts are copied; numbers and
 * vectors are borrowed until the table is freed, and looked at when they are used. A cell of
 * numbers or vectors has no text: lth_table_cell() gives NULL. Errors in a cell have the number of
 * its row, from 1, for a line, and no file.
 *
 * Numbers are for kernels of number columns and for targets. Vectors are for ssk with sim=cosine,
 * dot, arccos or exp, and for mean: they take the place of text and word vectors,
 * lth_gp_options.vectors may be NULL, and all tables of an encoder or model have them, of the same
 * dimension. */
LTH_API lth_status lth_table_from_columns(lth_ctx *ctx, const lth_column *columns, size_t size,
                                          size_t count, size_t rows, lth_table **out,
                                          lth_error *err);
LTH_API void lth_table_free(lth_table *table);

LTH_API const char *lth_table_name(const lth_table *table); /* the path it was read from */
LTH_API size_t lth_table_rows(const lth_table *table);
LTH_API size_t lth_table_columns(const lth_table *table);
LTH_API const char *lth_table_column_name(const lth_table *table, size_t column);

/* The column of that name, or LTH_NONE. */
#define LTH_NONE ((size_t)-1)
LTH_API size_t lth_table_find(const lth_table *table, const char *column);

/* One cell, not NUL-terminated; and the line of the file on which that row began. */
LTH_API const char *lth_table_cell(const lth_table *table, size_t row, size_t column,
                                   size_t *length);
LTH_API size_t lth_table_line(const lth_table *table, size_t row);
/* The file itself; lth_table_name() is the first of several. */
LTH_API const char *lth_table_file(const lth_table *table, size_t row);
/* Its number in the file, from 1: not row + 1 when rows were left out by `where`. */
LTH_API size_t lth_table_number(const lth_table *table, size_t row);

/* ---- Kernels ------------------------------------------------------------------------------- */

/* A parsed kernel expression with its hyperparameters. */
typedef struct lth_kernel lth_kernel;

/* Parse an expression. A mistake is LTH_EFORMAT with the column of the offending character. */
LTH_API lth_status lth_kernel_parse(lth_ctx *ctx, const char *expression, lth_kernel **out,
                                    lth_error *err);
/* What holds for all kernels of an expression that have such an argument and do not give it. */
typedef struct lth_kernel_settings {
    size_t size;           /* set by lth_kernel_settings_init()                               */
    const char *wild_type; /* a FASTA file: the argument wild_type; NULL = none               */
    int offset;            /* what the numbers in mutations are larger by than places in the wild
                              type, from 1: the argument first is offset + 1                  */
    bool fold_case;        /* the argument lower is yes                                       */
    const char *const *arrays; /* as in lth_table_options: NAME stands for NAME1..NAMEd          */
    size_t array_count;        /* entries of `arrays`                                            */
} lth_kernel_settings;

LTH_API void lth_kernel_settings_init(lth_kernel_settings *settings);

/* The same with settings (NULL = none), which are part of the printed expression. LTH_EARG when no
 * kernel can have what they say. */
LTH_API lth_status lth_kernel_parse_with(lth_ctx *ctx, const char *expression,
                                         const lth_kernel_settings *settings, lth_kernel **out,
                                         lth_error *err);
LTH_API void lth_kernel_free(lth_kernel *kernel);

/* The expression in canonical form with the current values: parsing it gives the same kernel.
 * Writes at most `capacity` bytes with a closing NUL and returns the length it needed, less the
 * NUL; 0 = out of memory. */
LTH_API size_t lth_kernel_print(const lth_kernel *kernel, char *buffer, size_t capacity);

/* The i-th table column the kernel reads, or NULL past the last. Ranges such as f1..f17 are given
 * as written. */
LTH_API const char *lth_kernel_column(const lth_kernel *kernel, size_t i);

/* What its cells hold, or those of each column of a range; of the first kernel that reads it. */
typedef enum lth_column_kind {
    LTH_COLUMN_TEXT,
    LTH_COLUMN_NUMBERS,
    LTH_COLUMN_TREE
} lth_column_kind;

LTH_API lth_column_kind lth_kernel_column_kind(const lth_kernel *kernel, size_t i);

/* The string kernel order when the whole expression is one string kernel, else 0: such kernels can
 * fill lth_gram_orders(). */
LTH_API size_t lth_kernel_orders(const lth_kernel *kernel);

/* Give a kernel the parameters that depend on the data: for symbols=all of a tree kernel, the
 * labels that the inner nodes of the table's trees have, by descending frequency; for a coregion
 * without tasks, those that its column has, sorted. *kernel is
 * replaced by a kernel in which they are spelled out, with the same values; nothing happens when
 * nothing is left open, or on failure. An encoder is made afterwards. lth_gp_fit() and lth_gp_cv()
 * do it themselves. */
LTH_API lth_status lth_kernel_resolve(lth_kernel **kernel, const lth_table *table, lth_error *err);

/* Whether the kernel matches words by vectors (so that lth_encoder_read_vectors() is needed, unless
 * its columns are vectors themselves). */
LTH_API bool lth_kernel_needs_vectors(const lth_kernel *kernel);

/* The sequence whose mutations the first of the kernel's columns has (see wild_type in
 * docs/kernels.md), NULL = it has texts; and the number of its first letter. */
LTH_API const char *lth_kernel_wild_type(const lth_kernel *kernel);
LTH_API int lth_kernel_wild_first(const lth_kernel *kernel);

/* Whether the expression has a kernel of the noise after "|", which a Gaussian process learns with
 * the other (see noise_kernel of lth_gp_options). All else that takes a kernel takes the first. */
LTH_API bool lth_kernel_has_noise(const lth_kernel *kernel);

/* What an argument does to its kernel, for those that do not know the family by name. */
typedef enum lth_role {
    LTH_ROLE_OTHER,
    LTH_ROLE_VARIANCE,    /* the kernel is proportional to it, or to all of its rows     */
    LTH_ROLE_WEIGHT,      /* of the i-th order; the kernel is proportional to all of them */
    LTH_ROLE_LENGTHSCALE, /* the distance over which the kernel falls off                */
    LTH_ROLE_GAP,         /* factor for each part that is skipped                        */
    LTH_ROLE_RARITY,      /* with it the frequencies in the first table count            */
    LTH_ROLE_ORDER,       /* structural: how many orders there are                       */
    LTH_ROLE_SITE         /* how much a difference at the i-th letter counts             */
} lth_role;

typedef struct lth_argument {
    const char *name, *help, *initial; /* `initial` as it would be written                */
    const char *choices;               /* "words|tokens|chars|bytes", "1..32", or ""      */
    bool learned;                      /* a hyperparameter, with bounds lo and hi         */
    double lo, hi;
    lth_role role;
} lth_argument;

/* What a family works on: the values of another kernel, sequences of units, trees, or a text from
 * which it makes features; operators are numbers, + and *; given are values of the caller's. */
typedef enum lth_family_kind {
    LTH_FAMILY_WRAPPER,
    LTH_FAMILY_STRING,
    LTH_FAMILY_TREE,
    LTH_FAMILY_MAP,
    LTH_FAMILY_OPERATOR,
    LTH_FAMILY_GIVEN
} lth_family_kind;

typedef struct lth_family {
    const char *name, *help, *usage;
    const lth_argument *arguments; /* for lth_family_argument() */
    lth_family_kind kind;
} lth_family;

/* The i-th kernel family, or NULL past the last, and its i-th argument: what `luthier kernels`
 * prints. All static. */
LTH_API const lth_family *lth_family_at(size_t i);
LTH_API const lth_argument *lth_family_argument(const lth_family *family, size_t i);

/* Hyperparameters, one row for each scalar, in the order of every gradient. A tied parameter has
 * its own row and its own partial derivative; setting one sets all that share its tag. */
typedef struct lth_param {
    const char *path; /* "ssk.gap", "ssk.weights[2]", "sstk.decay[NP]" */
    double value;     /* natural units                          */
    double lo, hi;
    bool held;       /* not learned                            */
    const char *tag; /* name it is tied by, without $; or NULL */
    const lth_family *family;
    const lth_argument *argument; /* of the family */
} lth_param;

LTH_API size_t lth_kernel_params(const lth_kernel *kernel);
LTH_API const lth_param *lth_kernel_param(const lth_kernel *kernel, size_t i);
LTH_API lth_status lth_kernel_set(lth_kernel *kernel, size_t i, double value, lth_error *err);
LTH_API lth_status lth_kernel_set_path(lth_kernel *kernel, const char *path, double value,
                                       lth_error *err);

/* For "did you mean": of the names at(user, 0), at(user, 1), ... up to NULL the one that `name` was
 * likely meant to be, or NULL. */
typedef const char *lth_name_fn(const void *user, size_t i);
LTH_API const char *lth_nearest(const char *name, lth_name_fn *at, const void *user);

/* ---- Items: encoded rows ------------------------------------------------------------------- */

/* An encoder turns table rows into what a kernel compares. It owns the vocabularies, so that all
 * items it made can be compared with one another, and the word vectors. It borrows the kernel. */
typedef struct lth_encoder lth_encoder;
typedef struct lth_items lth_items;

LTH_API lth_status lth_encoder_create(lth_ctx *ctx, const lth_kernel *kernel, lth_encoder **out,
                                      lth_error *err);
LTH_API void lth_encoder_free(lth_encoder *encoder);

/* Encode all rows of a table. The items keep nothing of the table. They borrow the encoder. */
LTH_API lth_status lth_encode(lth_encoder *encoder, const lth_table *table, lth_items **out,
                              lth_error *err);
LTH_API void lth_items_free(lth_items *items);
LTH_API size_t lth_items_count(const lth_items *items);

/* Read vectors for every word encoded so far: GloVe text, word2vec text or binary, fastText .vec,
 * each also gzipped, recognised by content. Words that no table has are not kept. */
LTH_API lth_status lth_encoder_read_vectors(lth_encoder *encoder, const char *path, lth_error *err);

/* Word vectors in memory, to be used in the place of a file: `count` words, word[i] of length[i]
 * bytes (NULL lengths = NUL-terminated) with the `dimension` numbers from values[i * dimension] on.
 * All is copied. A number that is not finite is LTH_EFORMAT with the word; a word that comes again
 * keeps its first vector, with a warning. Or every word of a file, which is then read once for all
 * that look words up in it. They do not change, and any number of calls may use them at once; a
 * model that was told to use them keeps them beyond lth_word_vectors_free(). */
typedef struct lth_word_vectors lth_word_vectors;
LTH_API lth_status lth_word_vectors_create(lth_ctx *ctx, const char *const *word,
                                           const size_t *length, size_t count, size_t dimension,
                                           const float *values, lth_word_vectors **out,
                                           lth_error *err);
LTH_API lth_status lth_word_vectors_read(lth_ctx *ctx, const char *path, lth_word_vectors **out,
                                         lth_error *err);
LTH_API void lth_word_vectors_free(lth_word_vectors *vectors);
/* As lth_encoder_read_vectors(). */
LTH_API lth_status lth_encoder_use_vectors(lth_encoder *encoder, const lth_word_vectors *vectors,
                                           lth_error *err);

/* Which word vectors a model's file keeps: those of its training words; none, so that it predicts
 * only once it was told the vectors that training used; or all of them, in a byte a number, so that
 * new words have vectors too. */
typedef enum lth_keep_vectors { LTH_KEEP_USED = 0, LTH_KEEP_NONE, LTH_KEEP_ALL } lth_keep_vectors;

/* ---- Gram matrices and their gradients ----------------------------------------------------- */

/* K[i * ld + j] = k(rows_i, cols_j). `cols` NULL = rows against themselves, filled on both sides of
 * the diagonal. The same bits come out for any thread count. A value that overflows is
 * LTH_ENUMERIC. */
LTH_API lth_status lth_gram(const lth_kernel *kernel, const lth_items *rows, const lth_items *cols,
                            double *K, size_t ld, lth_error *err);

/* diag[i] = k(rows_i, rows_i). */
LTH_API lth_status lth_gram_diagonal(const lth_kernel *kernel, const lth_items *rows, double *diag,
                                     lth_error *err);

/* Pull-back: grad[p] = sum_ij W[i * ld + j] dk(rows_i, cols_j) / dtheta_p, for lth_kernel_params()
 * parameters, whatever their number, at a small constant times the price of lth_gram(). */
LTH_API lth_status lth_gram_pull(const lth_kernel *kernel, const lth_items *rows,
                                 const lth_items *cols, const double *W, size_t ld, double *grad,
                                 lth_error *err);

/* The same of the diagonal: grad[p] = sum_i w[i] dk(rows_i, rows_i) / dtheta_p, a slice of rows at
 * a time. */
LTH_API lth_status lth_gram_diagonal_pull(const lth_kernel *kernel, const lth_items *rows,
                                          const double *w, double *grad, lth_error *err);

/* Every derivative: G[(p * rows + i) * cols + j] = dk_ij / dtheta_p. For tests and small data. */
LTH_API lth_status lth_gram_gradients(const lth_kernel *kernel, const lth_items *rows,
                                      const lth_items *cols, double *G, lth_error *err);

/* Every order of a string kernel from one pass: K[(o * rows + i) * cols + j] = k_(o+1), with its
 * powers of gap and match but without its weight. Only where lth_kernel_orders() is not 0. */
LTH_API lth_status lth_gram_orders(const lth_kernel *kernel, const lth_items *rows,
                                   const lth_items *cols, double *K, lth_error *err);

/* Kernel alignment of two matrices of `rows` rows and columns: sum A_ij B_ij divided by the square
 * root of sum A_ij^2 sum B_ij^2; 1 = the same up to a factor. With `center`, after the means of
 * rows and columns were taken out of both. A matrix of zeros has none: LTH_ENUMERIC. */
LTH_API lth_status lth_gram_align(const double *A, const double *B, size_t rows, bool center,
                                  double *out, lth_error *err);

/* ---- Gaussian processes ---------------------------------------------------------------------- */

/* A Gaussian process with learned hyperparameters. It holds all it needs: kernel, vocabulary, word
 * vectors, training rows, weights. */
typedef struct lth_gp lth_gp;

/* What a target column holds. AUTO: numbers if every cell is one, else labels; for a Gaussian
 * process, as the first cell that is not empty says. A column in which some cell has a comma is
 * multi-label: a row then has none, one or several labels. Classes are numbered by the bytes of
 * their names. */
typedef enum lth_task { LTH_TASK_AUTO = 0, LTH_TASK_REGRESSION, LTH_TASK_CLASSIFICATION } lth_task;

/* What is seen of a latent function f. Of labels: classes by 1 / (1 + exp(-f)) (the default; for
 * targets of numbers the default is GAUSSIAN), or by the normal distribution function of f. Of
 * numbers: f and normal noise; f and noise with heavy tails, whose degrees of freedom are learned;
 * normal noise after a learned monotone warp; normal noise, but what is below or above a bound is
 * seen as the bound; grades, which are few different numbers, with learned cut points; counts, of
 * mean exp(f) times the exposure, without and with more variance than that; shares between 0 and 1.
 */
typedef enum lth_likelihood {
    LTH_LOGIT = 0,
    LTH_PROBIT = 1,
    LTH_GAUSSIAN,
    LTH_STUDENT,
    LTH_WARPED,
    LTH_CENSORED,
    LTH_ORDINAL,
    LTH_POISSON,
    LTH_NEGBINOMIAL,
    LTH_BETA,
    LTH_SOFTMAX
} lth_likelihood;

/* "logit", "student": as --likelihood names it; NULL past the last. Static. */
LTH_API const char *lth_likelihood_name(lth_likelihood which);
/* The i-th warp of LTH_WARPED, "log", and a line about it; NULL past the last. Static. */
LTH_API const char *lth_warp_name(size_t i, const char **help);

/* The number that stands for a prediction, by which errors are counted. */
typedef enum lth_point { LTH_POINT_MEAN = 0, LTH_POINT_MEDIAN } lth_point;

/* One step of the optimiser: the evidence (log marginal likelihood) at the best point of this
 * start, the largest component of its gradient, and seconds since the fit began. `start` counts
 * from 0 (the informed one). Return non-zero to stop: the fit then ends well, with the best point
 * so far, marked as interrupted. After the search, what intervals and averages take tells the last
 * step again, with more evaluations; a model that is stopped then has neither. Fits of a
 * cross-validation tell it from any worker thread, one at a time. */
typedef struct lth_gp_step {
    size_t start, iteration, evaluations;
    double evidence, gradient, seconds;
} lth_gp_step;
typedef int lth_gp_step_fn(void *user, const lth_gp_step *step);

/* How the posterior of all rows is computed: EXACT by a factor of their matrix; CG, for numbers, by
 * conjugate gradients over the stored matrix, exact up to a tolerance; INDUCING by some rows that
 * stand for all. AUTO is the most exact that fits into memory. Where noise is not normal, EXACT is
 * LAPLACE's approximation, around the mode, or the best normal distribution with a SITE for each
 * row, by a bound of the evidence: whichever suits the likelihood, unless one is asked for. */
typedef enum lth_posterior {
    LTH_POSTERIOR_AUTO = 0,
    LTH_POSTERIOR_EXACT,
    LTH_POSTERIOR_CG,
    LTH_POSTERIOR_INDUCING,
    LTH_POSTERIOR_LAPLACE,
    LTH_POSTERIOR_SITES
} lth_posterior;

/* What INDUCING may learn from, all rows, after the search on `learn_rows`. */
typedef enum lth_bound { LTH_BOUND_NONE = 0, LTH_BOUND_FITC, LTH_BOUND_TITSIAS } lth_bound;

typedef struct lth_gp_options {
    size_t size;            /* set by lth_gp_options_init()                                       */
    size_t max_iter;        /* optimiser iterations of the start that finishes; default 200       */
    size_t restarts;        /* scrambled starts beside the informed one; default 4                */
    bool learn;             /* false: keep all hyperparameters as given; default true             */
    bool zero_mean;         /* false (default): the mean of each target is taken out              */
    bool unscaled;          /* keep the target's own scale: kernel values are then in its units   */
    double noise;           /* noise variance to start from, in the target's units squared;
                               0 (default) = half of the target's variance                        */
    bool noise_held;        /* keep `noise` as given                                              */
    const char *const *fix; /* paths to hold: "ssk.gap", "ssk.weights" (all of them), "noise", or
                               for labels "scale" */
    size_t fix_count;       /* entries of `fix`                                                   */
    const char *const *prior; /* "PATH=MEDIAN,SD": log-normal, SD of the logarithm; PATH may name a
                                 group such as "ssk.weights" */
    size_t prior_count;   /* entries of `prior`                                                 */
    const char *vectors;  /* file of word vectors; NULL = none                                  */
    lth_gp_step_fn *step; /* NULL = none                                                        */
    void *user;           /* handed to `step`                                                   */
    lth_task task;        /* default AUTO                                                       */
    lth_likelihood likelihood; /* of labels; default LTH_LOGIT                                  */
    lth_posterior posterior;   /* default AUTO                                                  */
    size_t inducing;           /* rows that stand for all; 0 (default) = an eighth of the rows, 1000
                                  to 4000, where that is ten minutes' work of one core          */
    size_t learn_rows;         /* hyperparameters are learned from so many rows, drawn at random;
                                  0 (default) = all when that is about an hour's work of one core,
                                  else as many as take it ten minutes                           */
    lth_bound bound;           /* default NONE                                                  */
    double tolerance;          /* of CG, relative residual; 0 (default) = 1e-8                  */
    size_t probes;             /* of CG, for variances; 0 (default) = 128                       */
    lth_precision store;       /* of the matrix that CG keeps; default F64, half of it as F32   */
    const char *journal;       /* a file that keeps every evaluation of the search, so that the same
                                  call goes on where it was killed; NULL = none                 */
    const char *gram;          /* a folder of lth_gram_store() to read the Gram matrix from; then
                                  all parameters of the kernel are held. NULL = none            */
    bool on_disk;              /* CG reads `gram` for every product instead of keeping it. Without a
                                  word it does so when memory is too small                      */
    const char *warp;          /* of LTH_WARPED; NULL = "log"                                    */
    double lower, upper;       /* of LTH_CENSORED; NaN (default), or both 0 = there is none      */
    const char *noise_by;      /* "COL": the known variance of each row's noise, in the target's
                                  units squared, beside the learned one; "1/COL": the learned one
                                  is that of one of so many repeats. NULL = neither             */
    const char *weights;       /* a column: how often each row counts; NULL = once              */
    const char *exposure;      /* a column: of counts, mean = exp(f) times this; NULL = 1        */
    lth_point point;           /* default MEAN                                                  */
    const char *mean;          /* a linear model of number columns, "zs + f1..f17", see
                                  lth_gp_kernel_parse(); NULL = none                            */
    bool intervals;  /* find intervals of the parameters: two evaluations more for each of them  */
    size_t average;  /* predict by so many draws of the parameters, 2 to 1000, and find the
                        intervals too; 0 (default) = by the best ones alone           */
    size_t coregion; /* several targets learn from each other, with so many numbers each;
                        then empty cells are allowed. 0 (default) = each by itself    */
    const char *noise_kernel; /* the noise is a function too: the kernel of its logarithm, whose
                                 size is learned in any case. For normal noise, with the exact
                                 posterior and one target. NULL (default) = one noise for all  */
    bool partial;   /* of a cross-validation that is canceled: the folds that are finished are what
                       was found, see lth_validation_done(); false (default) = nothing is          */
    bool calibrate; /* labels: learn from rows that are left out how sharp probabilities are;
                       default true                                                            */
    const lth_word_vectors *word_vectors; /* in the place of `vectors`; NULL = none            */
    lth_keep_vectors keep_vectors;        /* default USED                                      */
} lth_gp_options;

LTH_API void lth_gp_options_init(lth_gp_options *options);

/* Fit `expression` to number columns of a table. Several targets share the kernel and its
 * hyperparameters; their evidences are added. One column of labels makes a classifier, by Laplace's
 * approximation: one problem for two classes, otherwise one for each class against the rest; they
 * share the kernel likewise. `zero_mean`, `unscaled` and `noise` are for numbers. `options` NULL =
 * defaults. */
LTH_API lth_status lth_gp_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                              const char *const *targets, size_t target_count,
                              const lth_gp_options *options, lth_gp **out, lth_error *err);
LTH_API void lth_gp_free(lth_gp *gp);

/* The kernel of a model with options->mean `mean`, which may be NULL. The mean is a sum of number
 * columns and ranges; their weights are integrated out: it adds linear(scale(zs) + scale(f1..f17))
 * to the expression, with one variance to be learned. The words zero and constant among them say
 * whether the mean of each target is taken out, as `zero_mean` does. A mistake is LTH_EFORMAT with
 * its column: in `expression`, or where that is right by itself, in `mean`. */
LTH_API lth_status lth_gp_kernel_parse(lth_ctx *ctx, const char *expression, const char *mean,
                                       lth_kernel **out, lth_error *err);
/* The same with options->noise_kernel `noise`, which may be NULL, after "|" in the expression. A
 * mistake is in `noise` where the others are right by themselves. */
LTH_API lth_status lth_gp_kernel_with_noise(lth_ctx *ctx, const char *expression, const char *mean,
                                            const char *noise, lth_kernel **out, lth_error *err);

/* What lth_gp_fit() would do and need. Bytes and pairs (kernel values to compute) of one evaluation
 * of the search, and of the posterior of all rows; cell-orders are 0 where the kernel has none.
 * What options->gram has is read, not computed. Seconds are an estimate by a short trial on this
 * machine, of a search of 100 evaluations. */
typedef struct lth_gp_plan {
    size_t rows, learn_rows, inducing; /* inducing: 0 unless that is the posterior */
    lth_posterior posterior;
    lth_precision store; /* of the matrix that CG keeps */
    double available;    /* bytes of memory */
    double learn_bytes, bytes;
    double learn_pairs, pairs;
    double learn_cell_orders, cell_orders;
    double learn_seconds, seconds;
    double learn_read, read; /* bytes read from options->gram */
    bool on_disk;            /* where CG leaves the matrix    */
    const char *name;        /* what `posterior` comes to: "exact", "cg", "inducing", "laplace",
                                "sites", "softmax" or "coregion" */
} lth_gp_plan;
LTH_API lth_status lth_gp_plan_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                                   const char *const *targets, size_t target_count,
                                   const lth_gp_options *options, lth_gp_plan *out, size_t size,
                                   lth_error *err);

/* The kernel with its learned values. Borrowed from the model. */
LTH_API const lth_kernel *lth_gp_kernel(const lth_gp *gp);
LTH_API size_t lth_gp_targets(const lth_gp *gp);
LTH_API const char *lth_gp_target(const lth_gp *gp, size_t i);

/* Whether lth_gp_fit() would take a column for labels. */
LTH_API lth_status lth_gp_has_labels(const lth_table *table, const char *target, lth_task task,
                                     bool *out, lth_error *err);

/* The classes of a classifier, 0 = the model is for numbers; their names, and the training rows
 * that have them. */
typedef struct lth_class_rows {
    const char *name;
    size_t rows;
} lth_class_rows;
LTH_API size_t lth_gp_classes(const lth_gp *gp);
LTH_API const lth_class_rows *lth_gp_class(const lth_gp *gp, size_t i);
LTH_API bool lth_gp_is_multi_label(const lth_gp *gp);
LTH_API lth_likelihood lth_gp_likelihood(const lth_gp *gp);

/* How a learned parameter came about; `i` as in lth_kernel_param(), and past these the model's own:
 * the noise, of a classifier the scale of the kernel. LTH_NONE is the first of its own. */
typedef struct lth_gp_param {
    const char *path;
    double value, start; /* natural units; the noise in the (first) target's units squared */
    bool held, at_bound;
    const char *tag;
    double low, high;  /* 95% interval, where options->intervals or average asked for it; NaN = not
                          known, as of one that is held or at a bound */
    bool undetermined; /* the rows say next to nothing about it: the interval is made up */
} lth_gp_param;
LTH_API const lth_gp_param *lth_gp_param_at(const lth_gp *gp, size_t i);

/* A symbol of a tree kernel with hyperparameters of its own, and how many inner nodes of the
 * training trees have it. `i` counts over all kernels of the expression. */
typedef struct lth_gp_symbol {
    const char *kernel; /* "sstk", "sstk2" */
    const char *symbol;
    double decay, alpha; /* alpha 0 where the kernel has none */
    size_t count;
} lth_gp_symbol;
LTH_API const lth_gp_symbol *lth_gp_symbol_at(const lth_gp *gp, size_t i);

/* The linear part of a model: of a target or class, what its kernel says of number columns by terms
 * such as linear(scale(zs)), which a mean adds. f = sum_c weight_c x_c + the rest; a model without
 * such terms has no weights. */
typedef struct lth_trend lth_trend;
typedef struct lth_trend_weight {
    const char *column;
    double weight;    /* of one unit of the column, in the target's units (of labels, those of the
                         latent function): its posterior mean                             */
    double sd;        /* and standard deviation; NaN for a column that does not vary      */
    double deviation; /* standard deviation of the column: weight * deviation is comparable */
} lth_trend_weight;
LTH_API lth_status lth_gp_trend(const lth_gp *gp, size_t target, lth_trend **out, lth_error *err);
LTH_API void lth_trend_free(lth_trend *trend);
/* NULL past the last. */
LTH_API const lth_trend_weight *lth_trend_weight_at(const lth_trend *trend, size_t i);
/* Its share of the function's variance over training rows (some, where they are many): covariance
 * over variance, so that those of the rest make up 1. NaN without weights. Neither this nor `sd` is
 * known to a model whose matrices several ranks of a cluster hold: NaN. */
LTH_API double lth_trend_share(const lth_trend *trend);

/* Quality of predictions, in the target's own units. nlpd counts the noise; coverage is the share
 * of targets inside their 95% interval. The top is a tenth of the rows, at least one. What is not
 * defined is NaN; docs/models.md has the formulas. */
typedef struct lth_metrics {
    size_t count;
    double nlpd, mae, rmse, r, r2, coverage;
    double spearman, kendall; /* correlation of ranks; tau-b. 0 where one side is constant */
    double ndcg;              /* of the top by prediction, with y less the smallest as gain */
    double recall;            /* share of that top that is at the top of y too              */
    double crps;              /* mean continuous ranked probability score                   */
    double calibration;       /* mean distance of levels .05 .. .95 from the share of y inside */
    double qwk; /* quadratic weighted kappa; only if y has whole numbers, 100 different at most */
} lth_metrics;

/* Metrics of predictions with their standard deviations (of y, noise included), or NULL without.
 * Takes memory for the rows; where there is none, what needs their order is NaN. */
LTH_API void lth_metrics_of(const double *y, const double *mean, const double *sd, size_t count,
                            lth_metrics *out, size_t size);

typedef struct lth_gp_report {
    size_t rows, iterations, evaluations, starts;
    double evidence; /* log marginal likelihood in the target's units, summed over targets */
    double noise;    /* variance, of the first target, in its units squared; 0 for labels  */
    double jitter;   /* added to the diagonal, relative to its mean; 0 = none was needed   */
    double seconds;
    bool converged, interrupted;
    size_t orders;                  /* of the first string kernel in the expression, else 0 */
    double nu[64], order_share[64]; /* weights_i match^(2i); their shares of the mean k(x,x) */
    const lth_metrics *loo;         /* leave-one-out, of the first target; NULL for labels  */
    lth_posterior posterior;        /* the one that was taken, never AUTO                   */
    size_t learned_rows;            /* rows that the hyperparameters were learned from      */
    size_t inducing;                /* rows that stand for all; 0 = every row counts        */
    double trace_left;              /* share of the prior variance that they do not explain */
    double left_to_noise;           /* mean of the variance left over that of the noise     */
    size_t cg_steps;                /* of conjugate gradients; 0 = none                     */
    double cg_residual;             /* relative, the largest                                */
    double evidence_error;          /* its standard error, of CG an estimate; otherwise 0   */
    size_t draws;           /* of the parameters, over which predictions are averaged; 0 = none */
    double effective_draws; /* how many equal ones they are worth by their weights              */
    double sharpness; /* of labels: the power that probabilities are raised to; 0 = they are as the
                         posterior has them, nothing was learned                               */
    double left_out_loss, left_out_loss_plain; /* of each training row from all others, the mean
                         log loss of its label with that and without; where sharpness is not 0 */
} lth_gp_report;
LTH_API const lth_gp_report *lth_gp_reported(const lth_gp *gp);

/* Where to look for the vectors of words that training did not have; NULL (at first) = in what the
 * model keeps beside those of its training words: nowhere, unless it keeps all. Words that are not
 * found match as `oov` says, and a warning counts them. The file must be the one that training
 * used, or agree with it. A model that was loaded and keeps none reads those of its training words
 * at once. */
LTH_API lth_status lth_gp_use_vectors(lth_gp *gp, const char *path, lth_error *err);
/* The same with vectors in memory. */
LTH_API lth_status lth_gp_use_word_vectors(lth_gp *gp, const lth_word_vectors *vectors,
                                           lth_error *err);

/* The evidence of the training rows at other values of the parameters, without learning: value[i],
 * `count` of them, is that of lth_gp_param_at(gp, i), in its units; NULL = the model's own. Those
 * that share a tag are equal. `gradient` (NULL = not wanted) gets the derivatives by them, in the
 * same units, of each by itself: those of a tag are to be added up. Priors are not part of it.
 * LTH_EUNSUPPORTED of a model that keeps some of its rows alone, LTH_ENUMERIC where there is no
 * evidence. */
LTH_API lth_status lth_gp_evidence(const lth_gp *gp, const double *value, size_t count,
                                   double *evidence, double *gradient, lth_error *err);

/* Predict every row of a table: mean[t * rows + i] and, unless NULL, sd likewise, of y, or of the
 * function without noise when `latent`. Memory grows with the training rows, not with the table. */
LTH_API lth_status lth_gp_predict(const lth_gp *gp, const lth_table *table, bool latent,
                                  double *mean, double *sd, lth_error *err);

/* All that a model of numbers says of the rows of a table, into the caller's arrays; NULL = not
 * wanted. By [target * rows + row], where nothing else is said. */
typedef struct lth_gp_prediction {
    double *point, *mean, *median,
        *sd;                         /* of y; point is the mean or the median, as it was fitted */
    double *lower, *upper;           /* between them `level` of the probability, as much below  */
    double level;                    /* 0 = 0.95                                                */
    double *latent_mean, *latent_sd; /* of f, where that is in units of its own; else of y
                                        without noise */
    double *probability;             /* of grades: [row * grades + grade]                       */
    const double *y;                 /* the truth, for the rest:                                */
    double *log_density;             /* of what has a probability of its own, its logarithm     */
    double *cdf;                     /* P(Y < y), and half of P(Y = y)                          */
    double *crps;                    /* continuous ranked probability score                     */
    const char *const *given;        /* of targets that learn from each other: those whose numbers
                                        the table has, where a cell is not empty. The prediction of
                                        a row is then given these, of that row alone            */
    size_t given_count;
} lth_gp_prediction;
LTH_API lth_status lth_gp_predict_all(const lth_gp *gp, const lth_table *table,
                                      const lth_gp_prediction *to, size_t size, lth_error *err);

/* The joint posterior of the function at the rows of a table: mean[t * rows + i] and, unless NULL,
 * covariance[(t * rows + i) * rows + j], of what latent_mean above is: f where that is in units of
 * its own, as for a classifier, else y without noise. t counts latent functions: one for each
 * target of numbers, or those of a classifier. Memory grows with rows^2 and with rows times those
 * that the model keeps. LTH_EUNSUPPORTED where the posterior knows no covariances. */
LTH_API size_t lth_gp_latents(const lth_gp *gp);
LTH_API lth_status lth_gp_predict_joint(const lth_gp *gp, const lth_table *table, double *mean,
                                        double *covariance, lth_error *err);

/* Metrics of such a prediction, or of some of its rows, as arrays of `count`: from y and point, and
 * what else there is of sd, lower and upper at 0.95, log_density, cdf and crps. What is missing is
 * taken from a normal distribution with this point and sd. */
LTH_API lth_status lth_metrics_with(const lth_gp_prediction *from, size_t from_size, size_t count,
                                    lth_metrics *out, size_t size, lth_error *err);
/* What it is fitted with. */
LTH_API size_t lth_gp_coregion(const lth_gp *gp); /* the rank; 0 = targets are by themselves */
LTH_API lth_point lth_gp_point(const lth_gp *gp);
LTH_API const char *lth_gp_warp(const lth_gp *gp); /* NULL = none */
/* The grades of LTH_ORDINAL, ascending; 0 = it has none. Borrowed from the model. */
LTH_API size_t lth_gp_grades(const lth_gp *gp, const double **out);
/* The columns beside those of the kernel that it reads of every table: of its exposure. NULL =
 * none.
 */
LTH_API const char *lth_gp_exposure(const lth_gp *gp);
/* The same of the noise, which it reads where a table has it: without the "1/" of repeats. */
LTH_API const char *lth_gp_noise_by(const lth_gp *gp);

/* The same for a classifier: probability[row * classes + class]. They sum to 1 in each row; for
 * several labels a row each stands for itself, and a row has a label where it is above 1/2. */
LTH_API lth_status lth_gp_classify(const lth_gp *gp, const lth_table *table, double *probability,
                                   lth_error *err);

/* Takes the next `size` bytes of a model; returns 0, or anything else if it cannot. */
typedef int lth_write_fn(void *user, const void *bytes, size_t size);

/* The model file: see docs/format.md. Written beside and renamed. The same bytes go to and come
 * from memory, or wherever the caller wants them. */
LTH_API lth_status lth_gp_save(const lth_gp *gp, const char *path, lth_error *err);
LTH_API lth_status lth_gp_load(lth_ctx *ctx, const char *path, lth_gp **out, lth_error *err);
LTH_API lth_status lth_gp_save_to(const lth_gp *gp, lth_write_fn *write, void *user,
                                  lth_error *err);
LTH_API lth_status lth_gp_load_from(lth_ctx *ctx, const void *bytes, size_t size, lth_gp **out,
                                    lth_error *err);

/* Folds of a seeded shuffle: fold[i] in 0 .. folds-1, sizes as equal as can be. */
LTH_API void lth_folds_shuffled(uint64_t seed, size_t rows, size_t folds, size_t *fold);

/* Labels drawn from the prior: y[d * rows + i] ~ N(0, K + noise I), for `draws` draws. */
LTH_API lth_status lth_gp_sample(const lth_kernel *kernel, const lth_items *items, double noise,
                                 size_t draws, double *y, lth_error *err);

/* The same by another likelihood: f, drawn from the prior, and what is seen of it. */
typedef struct lth_gp_sample_options {
    size_t size;               /* set by lth_gp_sample_options_init()                           */
    lth_likelihood likelihood; /* default LTH_GAUSSIAN; labels are drawn as -1 and 1            */
    const char *warp;          /* of LTH_WARPED; NULL = "log"                                   */
    double lower, upper;       /* of LTH_CENSORED; NaN (default) = there is no such bound       */
    const char *const *set;    /* "noise=0.1", "dof=4", "gap=1,1,0.5" (for five grades), of a warp
                                  "c=0.5", and "mean=2", which is added to f; what is not set has
                                  the value at which learning starts, the mean is 0             */
    size_t set_count;
} lth_gp_sample_options;
LTH_API void lth_gp_sample_options_init(lth_gp_sample_options *options);
LTH_API lth_status lth_gp_sample_as(const lth_kernel *kernel, const lth_items *items,
                                    const lth_gp_sample_options *options, size_t draws, double *y,
                                    lth_error *err);

/* ---- Labels and cross-validation ----------------------------------------------------------- */

/* Quality of the predictions of one class. `support` counts the rows that have it. */
typedef struct lth_class_metrics {
    size_t support;
    double precision, recall, f1;
} lth_class_metrics;

/* Quality of predicted labels. A row counts as accurate when all of its labels are right. Macro
 * figures are means over the classes that occur, in truth or prediction. */
typedef struct lth_label_metrics {
    size_t count;
    double accuracy;
    double micro_precision, micro_recall, micro_f1;
    double macro_precision, macro_recall, macro_f1;
    double auc;      /* area under the ROC curve; only with two classes and their decision values */
    double log_loss; /* mean of -log P(the true labels of a row); only with probabilities. None of
                        these counts as less than 1e-15 */
    double brier;    /* mean over rows of the sum over classes of (P - truth)^2, or with several
                        labels a row of the mean over classes; only with probabilities */
    double auprc;    /* average precision of the second class; as auc */
    double calibration; /* expected calibration error, 10 bins; only with probabilities */
    double qwk; /* quadratic weighted kappa; only if all names of classes are whole numbers */
} lth_label_metrics;

/* Metrics of predicted labels: truth[i * classes + c] says whether row i has class c. auc and what
 * comes after it are NaN. And those of class `i`. */
LTH_API void lth_label_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                  size_t classes, lth_label_metrics *out, size_t size);
LTH_API void lth_class_metrics_of(const bool *truth, const bool *predicted, size_t count,
                                  size_t classes, size_t i, lth_class_metrics *out, size_t size);
/* All of them, from probability[i * classes + c] and the names of the classes; NULL = not known.
 * `multi`: a row may have several labels, or none. */
LTH_API lth_status lth_label_metrics_with(const bool *truth, const bool *predicted,
                                          const double *probability, const char *const *names,
                                          size_t count, size_t classes, bool multi,
                                          lth_label_metrics *out, size_t size, lth_error *err);

/* The same without probabilities: of two classes from score[i], higher for the second. */
LTH_API lth_status lth_label_metrics_scored(const bool *truth, const bool *predicted,
                                            const double *score, const char *const *names,
                                            size_t count, size_t classes, bool multi,
                                            lth_label_metrics *out, size_t size, lth_error *err);

/* ---- Models side by side: what they predicted of the same rows, resampled together ---- */

typedef struct lth_compare_options {
    size_t size;      /* set by lth_compare_options_init()                        */
    size_t resamples; /* of the rows, as many of them, with replacement; default 2000 */
    uint64_t seed;    /* default 1                                                */
    double level;     /* of the intervals; default 0.95                           */
} lth_compare_options;
LTH_API void lth_compare_options_init(lth_compare_options *options);

/* What a model predicted of labels, by [row * classes + class]; what is NULL is not known. */
typedef struct lth_label_prediction {
    const bool *predicted;
    const double *probability;
    const double *score; /* of two classes without probabilities: by row, higher for the second */
} lth_label_prediction;

/* A figure of a model, and what the first model has less this one. NaN = it is not defined. */
typedef struct lth_compared {
    const char *name;    /* "nlpd", "accuracy": as cv has them                             */
    const char *better;  /* "low", "high", or "0.95": the nearer to that                    */
    double value;        /* of all rows                                                   */
    double difference;   /* the first model's less this; 0 of the first itself             */
    double lower, upper; /* the interval of the difference: quantiles over resamples        */
    double first_better; /* share of resamples in which the first is better, ties half      */
    double p;            /* two-sided: twice the smaller share of the two, ties to both, with
                            one resample more for each; at most 1                          */
    size_t resamples;    /* in which both figures are defined                             */
} lth_compared;

typedef struct lth_comparison lth_comparison;
/* Of numbers: as for lth_metrics_with(), `from_size` is that of each; all have the same y, none of
 * which is NaN. Of labels: as for lth_label_metrics_with(), a struct for each model. The same for
 * any number of threads. */
LTH_API lth_status lth_compare_numbers(lth_ctx *ctx, const lth_gp_prediction *const *from,
                                       size_t from_size, size_t models, size_t rows,
                                       const lth_compare_options *options, lth_comparison **out,
                                       lth_error *err);
LTH_API lth_status lth_compare_labels(lth_ctx *ctx, const bool *truth,
                                      const lth_label_prediction *const *from, size_t from_size,
                                      size_t models, const char *const *names, size_t rows,
                                      size_t classes, bool multi,
                                      const lth_compare_options *options, lth_comparison **out,
                                      lth_error *err);
LTH_API void lth_comparison_free(lth_comparison *c);
/* Figures of a model, and one of them; NULL past the end. */
LTH_API size_t lth_comparison_figures(const lth_comparison *c);
LTH_API const lth_compared *lth_comparison_at(const lth_comparison *c, size_t model, size_t i);

/* Folds of a seeded shuffle in which each class of the target has its share of every fold; for a
 * target of numbers or of several labels a row, lth_folds_shuffled(). */
LTH_API lth_status lth_folds_stratified(uint64_t seed, const lth_table *table, const char *target,
                                        lth_task task, size_t folds, size_t *fold, lth_error *err);

/* What a cross-validation found, for targets of numbers and of labels. */
typedef struct lth_validation lth_validation;
LTH_API void lth_validation_free(lth_validation *v);

LTH_API bool lth_validation_has_labels(const lth_validation *v, size_t target);
/* Whether a fold is finished, LTH_NONE = all of them; one that is not has no figures, and its rows
 * are left out of those of all rows. */
LTH_API bool lth_validation_done(const lth_validation *v, size_t target, size_t fold);
/* By fold; LTH_NONE = all rows together. The first is for numbers (what needs standard deviations
 * is NaN for support vector machines), the second for labels. */
LTH_API const lth_metrics *lth_validation_metrics(const lth_validation *v, size_t target,
                                                  size_t fold);
LTH_API const lth_label_metrics *lth_validation_label_metrics(const lth_validation *v,
                                                              size_t target, size_t fold);
LTH_API double lth_validation_seconds(const lth_validation *v, size_t target, size_t fold);
/* Of the rows that a Gaussian process for numbers learned from, by fold. */
LTH_API double lth_validation_evidence(const lth_validation *v, size_t target, size_t fold);
/* Classes of a target of labels, over all rows together. */
LTH_API size_t lth_validation_classes(const lth_validation *v, size_t target);
LTH_API const char *lth_validation_class(const lth_validation *v, size_t target, size_t i);
LTH_API const lth_class_metrics *lth_validation_class_metrics(const lth_validation *v,
                                                              size_t target, size_t i);
/* Rows of class `truth` that were taken for class `predicted`; one label a row. */
LTH_API bool lth_validation_has_confusion(const lth_validation *v, size_t target);
LTH_API size_t lth_validation_confusion(const lth_validation *v, size_t target, size_t truth,
                                        size_t predicted);
/* What was predicted for a row: a number, with the standard deviation that a Gaussian process gives
 * it; or whether it has class `i`, and whether it really has. */
LTH_API double lth_validation_value(const lth_validation *v, size_t target, size_t row);
LTH_API double lth_validation_sd(const lth_validation *v, size_t target, size_t row);
/* Of numbers whose distribution is not normal, its quantile at 0.025, 0.5 or 0.975; otherwise, and
 * at other places, NaN. */
LTH_API double lth_validation_quantile(const lth_validation *v, size_t target, size_t row,
                                       double share);
LTH_API bool lth_validation_predicted(const lth_validation *v, size_t target, size_t row, size_t i);
LTH_API bool lth_validation_true(const lth_validation *v, size_t target, size_t row, size_t i);

/* Cross-validation of Gaussian processes: for each target and fold a model is fitted to the other
 * folds and judged on this one. `fold[i]` is the fold of row i, 0 .. folds-1. The targets have all
 * numbers or all labels, as `task` or else the first of them says. A label that the rows learned
 * from do not have is never predicted. */
LTH_API lth_status lth_gp_cv(lth_ctx *ctx, const char *expression, const lth_table *table,
                             const char *const *targets, size_t target_count, const size_t *fold,
                             size_t folds, const lth_gp_options *options, lth_validation **out,
                             lth_error *err);

/* ---- Support vector machines ---------------------------------------------------------------- */

/* A support vector machine: for labels (one problem for each class against the rest, or
 * for each pair of classes; for several labels a row, one for each label) or for numbers. The
 * kernel's hyperparameters are not learned: they are as written, or from a grid. */
typedef struct lth_svm lth_svm;

/* How the problems are solved. A kernel that is an inner product of sparse features (bow, tfidf,
 * ngrams, approx_ssk, semantic; linear(), normalize(), a number times and sums of these) needs no
 * Gram matrix: LINEAR learns a weight for each feature. It counts the offset as a weight too.
 * ORIGIN, for labels, has no offset: f is 0 far from all rows. */
typedef enum lth_svm_solver {
    LTH_SVM_AUTO,   /* LINEAR where it can be and there are more than 2,000 rows */
    LTH_SVM_KERNEL, /* from the Gram matrix                                     */
    LTH_SVM_LINEAR,
    LTH_SVM_ORIGIN /* from the Gram matrix, without a threshold */
} lth_svm_solver;

typedef struct lth_svm_options {
    size_t size;            /* set by lth_svm_options_init()                                      */
    lth_task task;          /* default AUTO                                                       */
    bool nu_svm;            /* nu-SVC and nu-SVR instead of C-SVC and epsilon-SVR                 */
    bool one_vs_rest;       /* more than two classes: one problem for each (default), or one for
                               each pair, as nu-SVC needs where classes are small                */
    bool probability;       /* calibrate probabilities (labels only)                              */
    const double *C;        /* a list of more than one value is a grid; default 1                 */
    size_t C_count;         /* entries of `C`; likewise below                                     */
    const double *epsilon;  /* epsilon-SVR: errors up to this are free; default 0.1               */
    size_t epsilon_count;   /*                                                                    */
    const double *nu;       /* nu-SVC, nu-SVR: least share of support rows; default 0.5           */
    size_t nu_count;        /*                                                                    */
    const char *const *set; /* "PATH=V1,V2,...": values of the kernel to try: "ssk.gap=0.1,0.5", or
                               of what is fixed in its expression: "ssk.order=3,4,5"              */
    size_t set_count;       /* entries of `set`                                                   */
    size_t inner_folds;     /* a grid is judged by these folds of the training rows; default 3    */
    const char *class_weights; /* "balanced", or "NAME=W,NAME=W": factors of C; NULL = all 1    */
    const char *vectors;       /* file of word vectors; NULL = none                             */
    lth_svm_solver solver;     /* default AUTO                                                  */
    size_t features;  /* rows that stand for all: each row is described by its similarities with
                         so many of them, without a Gram matrix; 0 (default) = none do           */
    const char *gram; /* a folder of lth_gram_store() to read the Gram matrix from, for a
                         kernel without `set`; NULL = none                             */
    bool partial;     /* as in lth_gp_options                                            */
    const lth_word_vectors *word_vectors; /* in the place of `vectors`; NULL = none            */
    lth_keep_vectors keep_vectors;        /* default USED                                      */
} lth_svm_options;

LTH_API void lth_svm_options_init(lth_svm_options *options);

/* Fit `expression` to one column of a table. With a grid, the point with the best accuracy (macro
 * F1 for several labels a row, root mean square error for numbers) over the inner folds is taken,
 * ties to the smaller C, and trained on all rows. `options` NULL = defaults. */
LTH_API lth_status lth_svm_fit(lth_ctx *ctx, const char *expression, const lth_table *table,
                               const char *target, const lth_svm_options *options, lth_svm **out,
                               lth_error *err);
LTH_API void lth_svm_free(lth_svm *svm);

/* Borrowed from the model. */
LTH_API const lth_kernel *lth_svm_kernel(const lth_svm *svm);
LTH_API const char *lth_svm_target(const lth_svm *svm);

typedef struct lth_svm_report {
    const char *type;  /* "C-SVC", "nu-SVC", "epsilon-SVR", "nu-SVR"; static             */
    const char *score; /* what the grid was judged by: "accuracy", "macro_f1", "rmse"    */
    bool regression, multi_label;
    bool one_vs_rest; /* of more than two classes, one label a row */
    bool probability;
    double C, epsilon, nu; /* as chosen                                                  */
    double inner;          /* score of the chosen point; NaN without a grid              */
    size_t rows, support;  /* training rows, and those that the model needs              */
    size_t classes;        /* 0 for numbers                                              */
    size_t problems;       /* with a decision value each                                 */
    size_t points;         /* of the grid                                                */
    size_t inner_folds;
    double seconds;
    bool linear;     /* LTH_SVM_LINEAR was used: the model has weights of features */
    size_t weights;  /* those that are not 0, of all problems                      */
    size_t features; /* rows that stand for all, which are the support rows; 0 = none do */
} lth_svm_report;
LTH_API const lth_svm_report *lth_svm_reported(const lth_svm *svm);

/* A class, the training rows that have it, and how many of these are support rows. */
typedef struct lth_svm_class {
    const char *name;
    size_t rows, support;
} lth_svm_class;
LTH_API const lth_svm_class *lth_svm_class_at(const lth_svm *svm, size_t i);

/* A point of the grid, with its score over the inner folds: NaN if it could not be trained. What
 * the type does not use is NaN too. */
typedef struct lth_svm_point {
    const char *kernel;
    double C, epsilon, nu, score;
} lth_svm_point;
LTH_API const lth_svm_point *lth_svm_point_at(const lth_svm *svm, size_t i);

/* The classes of problem `i`: `positive` where its decision value is above 0. `negative` is
 * LTH_NONE for the rest; both are for numbers. */
LTH_API void lth_svm_problem_at(const lth_svm *svm, size_t i, size_t *positive, size_t *negative);

/* As lth_gp_use_vectors(). */
LTH_API lth_status lth_svm_use_vectors(lth_svm *svm, const char *path, lth_error *err);
LTH_API lth_status lth_svm_use_word_vectors(lth_svm *svm, const lth_word_vectors *vectors,
                                            lth_error *err);

/* Predict every row of a table into the caller's arrays; NULL = not wanted. `label` is for one
 * label a row, `probability` for models that were trained with it. */
typedef struct lth_svm_prediction {
    double *value;       /* numbers: [row]                      */
    size_t *label;       /* its class: [row]                    */
    bool *has;           /* [row * classes + class]             */
    double *probability; /* [row * classes + class]             */
    double *decision;    /* [row * problems + problem]          */
    double *score;       /* of labels, the higher the more likely; of two classes [row], above 0 for
                            the second; else [row * classes + class]: the decision value of the
                            class against the rest, or in pairs its votes, of which equal ones are
                            told apart by the sum s of its decision values: + s / (3 (|s| + 1))   */
} lth_svm_prediction;
LTH_API lth_status lth_svm_predict(const lth_svm *svm, const lth_table *table,
                                   const lth_svm_prediction *to, size_t size, lth_error *err);

LTH_API lth_status lth_svm_save(const lth_svm *svm, const char *path, lth_error *err);
LTH_API lth_status lth_svm_load(lth_ctx *ctx, const char *path, lth_svm **out, lth_error *err);
LTH_API lth_status lth_svm_save_to(const lth_svm *svm, lth_write_fn *write, void *user,
                                   lth_error *err);
LTH_API lth_status lth_svm_load_from(lth_ctx *ctx, const void *bytes, size_t size, lth_svm **out,
                                     lth_error *err);

/* Cross-validation, as lth_gp_cv(): every fold searches the grid anew on its own training rows. The
 * Gram matrix of all rows is computed once for each kernel of the grid. */
LTH_API lth_status lth_svm_cv(lth_ctx *ctx, const char *expression, const lth_table *table,
                              const char *const *targets, size_t target_count, const size_t *fold,
                              size_t folds, const lth_svm_options *options, lth_validation **out,
                              lth_error *err);

/* ---- Models of either kind ------------------------------------------------------------------- */

/* What a Gaussian process and a support vector machine have in common. It is the same object, seen
 * otherwise, and freed once. lth_model_gp() and lth_model_svm() tell its kind: one is NULL. */
typedef struct lth_model lth_model;
LTH_API lth_model *lth_gp_model(lth_gp *gp);
LTH_API lth_model *lth_svm_model(lth_svm *svm);
LTH_API lth_gp *lth_model_gp(lth_model *model);
LTH_API lth_svm *lth_model_svm(lth_model *model);
LTH_API void lth_model_free(lth_model *model);

/* Files, and the same bytes elsewhere, of whatever kind they are. */
LTH_API lth_status lth_model_save(const lth_model *model, const char *path, lth_error *err);
LTH_API lth_status lth_model_load(lth_ctx *ctx, const char *path, lth_model **out, lth_error *err);
LTH_API lth_status lth_model_save_to(const lth_model *model, lth_write_fn *write, void *user,
                                     lth_error *err);
LTH_API lth_status lth_model_load_from(lth_ctx *ctx, const void *bytes, size_t size,
                                       lth_model **out, lth_error *err);

/* Borrowed from the model. The names of its classes; without any it is for numbers. */
LTH_API const lth_kernel *lth_model_kernel(const lth_model *model);
LTH_API size_t lth_model_rows(const lth_model *model); /* that it was trained with */
LTH_API size_t lth_model_targets(const lth_model *model);
LTH_API const char *lth_model_target(const lth_model *model, size_t i);
LTH_API size_t lth_model_classes(const lth_model *model);
LTH_API const char *lth_model_class(const lth_model *model, size_t i);
LTH_API bool lth_model_is_multi_label(const lth_model *model);

/* As lth_gp_use_vectors(). */
LTH_API lth_status lth_model_use_vectors(lth_model *model, const char *path, lth_error *err);
LTH_API lth_status lth_model_use_word_vectors(lth_model *model, const lth_word_vectors *vectors,
                                              lth_error *err);

/* What training read its word vectors from; NULL = from nothing that is known. */
typedef struct lth_vectors_origin {
    const char *name; /* of the file, without its folder; "" = from memory */
    size_t words, dimension;
    lth_keep_vectors keep; /* what the model's file has of them */
} lth_vectors_origin;
LTH_API const lth_vectors_origin *lth_model_vectors_origin(const lth_model *model);

/* Words of new rows that the kernel compares by their vectors, counted over all calls since the
 * model was made. At any time, also while other threads predict. */
typedef struct lth_words_without_vector {
    size_t rows, units; /* that were read: rows, and all their words with repeats             */
    size_t occurrences; /* of words without a vector: the model has none, and none was found  */
    size_t words;       /* different ones; no more than 16,384 of them are told apart         */
    size_t new_occurrences, new_words; /* of those that training did not have                  */
} lth_words_without_vector;
LTH_API void lth_model_words_without_vector(const lth_model *model, lth_words_without_vector *out,
                                            size_t size);
/* Each call that comes upon new words without a vector, and has nowhere to look for them, says so
 * by one warning. While words are gathered none does; the end of it says it once for all, unless
 * all of them were told at such an end before. */
LTH_API void lth_model_gather_words(lth_model *model, bool gather);

/* What kind of model a file holds: "gp" or "svm". Only the file's header is looked at. */
LTH_API lth_status lth_model_kind(const char *path, char kind[16], lth_error *err);

/* ---- Arrays on disk ------------------------------------------------------------------------ */

/* Write a float64 .npy file, beside and then renamed; "-" is standard output. Rank 1 to 3. */
LTH_API lth_status lth_npy_write(const char *path, const double *data, const size_t *shape,
                                 size_t rank, lth_error *err);

/* Read a float64 or float32 .npy file in C order. The data are freed with lth_npy_free(). */
LTH_API lth_status lth_npy_read(const char *path, double **data, size_t shape[3], size_t *rank,
                                lth_error *err);
LTH_API void lth_npy_free(double *data);

/* ==== May change ============================================================================== */

/* ---- Files that are written ------------------------------------------------------------------ */

/* A file that appears under its name only when it is complete and on the disk: so are models and
 * arrays written. Until then it is a new file NAME.tmp-X beside it; what a killed process has left
 * of these goes when the file is written next. After a crash there is the old file or the new one.
 * A file that is replaced hands on its permissions; a link stays one, and what it points to is
 * replaced. "-" is standard output; that, devices and pipes are written as they are. */
typedef struct lth_output lth_output;
LTH_API lth_status lth_output_open(const char *path, lth_output **out, lth_error *err);
/* After a failure every call fails for the same reason. */
LTH_API lth_status lth_output_write(lth_output *output, const void *bytes, size_t size,
                                    lth_error *err);
LTH_API lth_status lth_output_commit(lth_output *output, lth_error *err);
LTH_API void lth_output_free(lth_output *output); /* not committed = no file */

/* ---- Reasons --------------------------------------------------------------------------------- */

/* Why a model predicts what it does for one row. With f(x) = sum_a w_a k(x, x_a), every kernel at
 * the leaves of the expression is a sum over what the row shares with x_a, so its value can be told
 * apart by the row's parts: tokens, nodes of a tree, numbers. Where f is linear in these kernels
 * (sums, numbers times, normalize) the parts' weights add up to it exactly. Otherwise they are
 * integrated along the path on which all that is shared grows from nothing to what it is
 * (integrated gradients), and what the integral misses is given as `missed`. */
typedef struct lth_reasons lth_reasons;

typedef struct lth_explain_options {
    size_t size;     /* set by lth_explain_options_init()                                     */
    size_t target;   /* of several targets, or the class (of an SVM, the problem); default 0  */
    size_t patterns; /* heaviest patterns to list; default 10, 0 = none                       */
    size_t rows;     /* training rows to list; default 5, 0 = none                            */
    size_t nearest;  /* nearest training rows to list beside these; default 0                 */
} lth_explain_options;
LTH_API void lth_explain_options_init(lth_explain_options *options);

LTH_API lth_status lth_gp_explain(const lth_gp *gp, const lth_table *table, size_t row,
                                  const lth_explain_options *options, lth_reasons **out,
                                  lth_error *err);
LTH_API lth_status lth_svm_explain(const lth_svm *svm, const lth_table *table, size_t row,
                                   const lth_explain_options *options, lth_reasons **out,
                                   lth_error *err);
LTH_API void lth_reasons_free(lth_reasons *reasons);

/* The prediction. `mean` = `baseline` + all weights + `missed`. For labels it is the latent
 * function of the class (the decision value of an SVM), and `probability` its probability. What a
 * model does not have is NaN. */
typedef struct lth_reasons_summary {
    double mean, baseline, missed;
    double sd;       /* of y: sqrt(distance^2 + noise^2)                       */
    double distance; /* sd of the function: how far this row is from the rows learned from  */
    double noise;    /* sd of the noise                                        */
    double prior;    /* what `distance` would be far from all rows             */
    double probability;
    bool exact; /* the weights add up but for rounding                    */
    size_t parts, patterns, rows;
    double trend;     /* what the linear part adds (lth_gp_trend()): part of `mean` - `baseline` */
    double predicted; /* of numbers: what is expected of y, in its units; else NaN */
    const char *unit; /* of all the others: "" = those of y, "latent" = those of f, as where counts
                         are exp(f); their sd and noise are then NaN. Static */
    double least, most; /* target of a training row; NaN for labels, and of an SVM, which keeps none
                         */
} lth_reasons_summary;
LTH_API const lth_reasons_summary *lth_reasons_summarise(const lth_reasons *reasons);

/* A token, a node of a tree or a number, in the order of the row; parts of several columns or
 * kernels that read the same column with the same units are one. `text` is the token, the node's
 * label, or the number's column. Tokens have the place of their bytes in the cell, nodes the place
 * of their brackets, or LTH_NONE. */
typedef struct lth_reasons_part {
    const char *column, *text;
    size_t first, length; /* bytes of the cell */
    size_t depth;         /* of a node: 0 = the root */
    double weight;
    bool seen; /* training had this token (this production) */
} lth_reasons_part;
LTH_API const lth_reasons_part *lth_reasons_part_at(const lth_reasons *reasons, size_t i);

/* A pattern: tokens with gaps between them ("not ... good"), or a fragment of a tree in brackets.
 * `weight` is what it adds to this prediction, or for a model, to the prediction of a row that has
 * it once, without gaps. `rows` counts the training rows that have it. What is lighter than 1e-12
 * of the heaviest is rounding, and is not listed; nor are such training rows. */
typedef struct lth_reasons_pattern {
    const char *column, *text;
    double weight;
    size_t rows;
    size_t example; /* a training row that has it, from 0; LTH_NONE = none */
} lth_reasons_pattern;
LTH_API const lth_reasons_pattern *lth_reasons_pattern_at(const lth_reasons *reasons, size_t i);

/* A training row, from 0: what it adds to the prediction, and k(x, x_a) / sqrt(k(x, x) k(x_a,
 * x_a)). The rows that add most, then, by similarity, the `nearest` that are not among them. Of an
 * SVM they are its support rows, in the order in which the model has them, with the class of the
 * problem whose side they are on ("other" for the rest); one with weights of features lists none.
 */
typedef struct lth_reasons_row {
    size_t row;
    double weight, similarity;
    double y;          /* its target; NaN for labels, and where it has none */
    const char *label; /* its labels; NULL for numbers */
} lth_reasons_row;
LTH_API const lth_reasons_row *lth_reasons_row_at(const lth_reasons *reasons, size_t i);

/* The heaviest patterns of a model: `count` that push up most and `count` that push down, in
 * falling order of weight. Where the kernel is not linear in its features, weights are means over
 * the training rows. Only patterns are set in the result. */
LTH_API lth_status lth_gp_patterns(const lth_gp *gp, size_t target, size_t count, lth_reasons **out,
                                   lth_error *err);
LTH_API lth_status lth_svm_patterns(const lth_svm *svm, size_t problem, size_t count,
                                    lth_reasons **out, lth_error *err);

/* What a training row was, as far as the model keeps it: its tokens with blanks between them, its
 * tree in brackets, its numbers; by the kernel's columns. Borrowed until this thread's next call.
 * NULL past the last row; and for lack of memory, which errno says: ENOMEM. */
LTH_API const char *lth_gp_row_text(const lth_gp *gp, size_t row, size_t column);
/* The same of an SVM's support rows. */
LTH_API const char *lth_svm_row_text(const lth_svm *svm, size_t row, size_t column);
/* All its columns on one line, to be read: texts and trees before numbers, which are rounded to
 * four digits; "a text | size 3, weight 0.5". Borrowed likewise. */
LTH_API const char *lth_gp_row_line(const lth_gp *gp, size_t row);
LTH_API const char *lth_svm_row_line(const lth_svm *svm, size_t row);

/* The same of either kind of model; `function` and lth_explain_options.target count up to
 * lth_model_functions(): its targets, the classes of a Gaussian process, or the problems of a
 * support vector machine. */
LTH_API size_t lth_model_functions(const lth_model *model);
LTH_API lth_status lth_model_explain(const lth_model *model, const lth_table *table, size_t row,
                                     const lth_explain_options *options, lth_reasons **out,
                                     lth_error *err);
LTH_API lth_status lth_model_patterns(const lth_model *model, size_t function, size_t count,
                                      lth_reasons **out, lth_error *err);
LTH_API const char *lth_model_row_text(const lth_model *model, size_t row, size_t column);
LTH_API const char *lth_model_row_line(const lth_model *model, size_t row);

/* ---- Design: which rows to measure next -------------------------------------------------------
 */

/* How promising a row is, by the posterior of f at it (see docs/design.md). Of numbers: the
 * expected improvement on the best so far, and its logarithm, which tells rows apart where the
 * first is next to nothing; mean + beta sd; a draw from the posterior; the mean; the probability of
 * an improvement; the variance. Of labels: the entropy of the label; what the label would tell of
 * f; how close the two likeliest classes are. AUTO: LOGEI of numbers, BALD of labels. */
typedef enum lth_acquisition {
    LTH_ACQUIRE_AUTO = 0,
    LTH_ACQUIRE_EI,
    LTH_ACQUIRE_LOGEI,
    LTH_ACQUIRE_UCB,
    LTH_ACQUIRE_TS,
    LTH_ACQUIRE_GREEDY,
    LTH_ACQUIRE_PI,
    LTH_ACQUIRE_VARIANCE,
    LTH_ACQUIRE_ENTROPY,
    LTH_ACQUIRE_BALD,
    LTH_ACQUIRE_MARGIN
} lth_acquisition;
/* "ei", and a line about it; NULL past the last. Static. */
LTH_API const char *lth_acquisition_name(lth_acquisition which, const char **help);

/* How rows of a batch take account of each other: by the expected improvement of all of them
 * together; each after the model believes its own mean of those before it; each by a draw of its
 * own from the joint posterior; not at all. AUTO: THOMPSON for ts, TOP for greedy, BELIEVER
 * otherwise. */
typedef enum lth_batch {
    LTH_BATCH_AUTO = 0,
    LTH_BATCH_JOINT,
    LTH_BATCH_BELIEVER,
    LTH_BATCH_THOMPSON,
    LTH_BATCH_TOP
} lth_batch;
LTH_API const char *lth_batch_name(lth_batch which, const char **help);

typedef struct lth_propose_options {
    size_t size;                 /* set by lth_propose_options_init()                          */
    size_t count;                /* rows to propose, fewer where there are not so many; default 1 */
    lth_acquisition acquisition; /* default AUTO                                               */
    lth_batch batch;             /* default AUTO                                               */
    bool minimize;               /* what `objectives` says nothing of; default false           */
    const char *const *objectives; /* "NAME", "NAME=max", "NAME=min": targets of the models, or a
                                      class of a classifier; NULL = all targets                  */
    size_t objective_count;
    const double *weights; /* of each objective, for the sum of them; NULL = what several add to the
                              hypervolume of those that are not outdone                          */
    double beta;           /* of UCB; 0 (default) = 2                                            */
    double best; /* what is to be improved on; NaN (default) = the best that is expected of
                    a training row                                                     */
    const lth_table *pending;  /* rows that are being measured, with the columns of the models:
                                  believed, and not proposed again; NULL = none                  */
    const lth_model *feasible; /* the acquisition counts by the probability that this model's label
                                  is `feasible_class` (NULL = its last class), or of numbers, that y
                                  is between the two bounds; NULL = all rows are                 */
    const char *feasible_class;
    double feasible_least, feasible_most; /* NaN (default) = no such bound                       */
    const char
        *cost;       /* a column of the candidates: the acquisition is by unit of it; NULL = none */
    size_t distance; /* letters (of other texts, tokens) by which proposals differ at least from
                        each other and from rows measured or pending; 0 (default) = 1         */
    bool repeats;    /* rows that are measured or pending may be proposed too                  */
    size_t shortlist; /* rows whose joint posterior is looked at; 0 (default) = 2048            */
    size_t draws;     /* from it, for JOINT; 0 (default) = 512                                  */
    const char *wild_type; /* the sequence from which mutations are counted; NULL (default) = the
                              kernel's, if it has one                                            */
    const lth_table *measured; /* rows not to propose, beside those the models have learned from;
                                  with the columns of the models; NULL = none                    */
} lth_propose_options;
LTH_API void lth_propose_options_init(lth_propose_options *options);

typedef struct lth_proposals lth_proposals;
typedef struct lth_proposal {
    size_t row;         /* of the candidates                                                     */
    double mean, sd;    /* of the first objective, as latent_mean and latent_sd of a prediction; of
                           labels the probability of the likeliest class, and NaN                */
    double acquisition; /* given the proposals before it; in the units of its kind               */
    double feasible;    /* probability; 1 without such a model                                   */
    double cost;        /* 1 without                                                             */
    size_t nearest;     /* the training row, from 0, that it takes fewest edits to come from     */
    size_t distance;    /* that many; LTH_NONE for both where rows are no texts                  */
    size_t mutations;   /* edits from the wild type; LTH_NONE = there is none                    */
    const char *label;  /* the likeliest class; NULL of numbers                                  */
} lth_proposal;

/* The rows of a table to measure next, best first. Models have what is to be optimised (or learned)
 * as targets: one, or several that read the same table. The same seed, the same proposals. */
LTH_API lth_status lth_propose(lth_model *const *models, size_t model_count,
                               const lth_table *candidates, const lth_propose_options *options,
                               lth_proposals **out, lth_error *err);
LTH_API void lth_proposals_free(lth_proposals *proposals);
LTH_API size_t lth_proposals_count(const lth_proposals *proposals);
LTH_API const lth_proposal *lth_proposal_at(const lth_proposals *proposals, size_t i);
/* What they are for: the name of an objective, NULL past the last; and of each proposal the mean
 * and sd of it. */
LTH_API const char *lth_proposals_objective(const lth_proposals *proposals, size_t objective,
                                            bool *minimize);
LTH_API double lth_proposals_mean(const lth_proposals *proposals, size_t i, size_t objective);
LTH_API double lth_proposals_sd(const lth_proposals *proposals, size_t i, size_t objective);
LTH_API lth_acquisition lth_proposals_acquisition(const lth_proposals *proposals);
LTH_API lth_batch lth_proposals_batch(const lth_proposals *proposals);

/* Texts that could be measured, by a rule instead of a list; docs/design.md has the words:
 * "alphabet=ACGT, length=5..12", "from=wt.fa, sites=39,40,41,54", "max-mutations=5,
 * forbid=N[^P][ST]". A mistake is LTH_EFORMAT with its column. */
typedef struct lth_space lth_space;
LTH_API lth_status lth_space_parse(lth_ctx *ctx, const char *text, lth_space **out, lth_error *err);
LTH_API void lth_space_free(lth_space *space);
/* Whether a text belongs to it; if not, `why` (NULL = not asked) is a static text. */
LTH_API bool lth_space_has(const lth_space *space, const char *text, size_t length,
                           const char **why);
/* `count` different texts of the space at random, as a table of one column; fewer where there are
 * not so many. */
LTH_API lth_status lth_space_sample(const lth_space *space, const char *column, size_t count,
                                    uint64_t seed, lth_table **out, lth_error *err);

/* Whether each of some texts can be measured at all; returns 0, or anything else to end the search
 * with LTH_EIO. */
typedef int lth_valid_fn(void *user, const char *const *texts, size_t count, bool *valid);

typedef struct lth_search_options {
    size_t size;        /* set by lth_search_options_init()                                     */
    size_t evaluations; /* acquisition values to compute at most; 0 (default) = 20,000          */
    size_t population;  /* texts that are kept from one generation to the next; 0 (default) = 256 */
    size_t trust;       /* edits from the best rows measured at most; 0 (default) = no such limit */
    lth_valid_fn *valid; /* NULL = all are                                                       */
    void *user;          /* handed to it                                                         */
} lth_search_options;
LTH_API void lth_search_options_init(lth_search_options *options);

/* lth_propose() over a space: an evolutionary search, with single edits of the best it finds. The
 * models read one column of texts. `rows` are the proposals' texts, in a table with that column;
 * `row` of a proposal is one of these. */
LTH_API lth_status lth_search(lth_model *const *models, size_t model_count, const lth_space *space,
                              const lth_propose_options *options, const lth_search_options *search,
                              lth_table **rows, lth_proposals **out, lth_error *err);

/* A campaign: rounds of asking what to measure and telling what was measured. Its state is a
 * folder: settings (design.tsv), all rows with what was expected and what came out (rows.tsv), and
 * the last model; it goes on after a crash, and one process at a time changes it. Without a folder
 * it lives in memory. */
typedef struct lth_design lth_design;
typedef struct lth_design_options {
    size_t size;        /* set by lth_design_options_init()                                      */
    const char *kernel; /* expression                                                            */
    const char *const *targets;
    size_t target_count;
    const char *space;      /* as for lth_space_parse(); or                                     */
    const char *candidates; /* a table's file; or                                               */
    const lth_table *pool;  /* a table in memory, borrowed, of a campaign in memory             */
    const lth_propose_options *propose; /* how; NULL = defaults. Its count, pending and best are not
                                           looked at                                             */
    const lth_search_options *search;   /* NULL = defaults                                       */
    const lth_gp_options *gp;           /* NULL = defaults                                       */
    const char *const *settings; /* "NAME=VALUE": whatever else the caller wants to find again   */
    size_t setting_count;
} lth_design_options;
LTH_API void lth_design_options_init(lth_design_options *options);

/* Begin one. `folder` must not be there, or be empty; NULL = in memory. */
LTH_API lth_status lth_design_create(lth_ctx *ctx, const char *folder,
                                     const lth_design_options *options, lth_design **out,
                                     lth_error *err);
LTH_API lth_status lth_design_open(lth_ctx *ctx, const char *folder, lth_design **out,
                                   lth_error *err);
LTH_API void lth_design_free(lth_design *design);

/* `count` rows to measure: with what the models read of them. They are pending from now on. With
 * too few rows measured to learn from, they are drawn at random, and `proposals` gets NULL.
 * Either out-pointer may be NULL. */
LTH_API lth_status lth_design_ask(lth_design *design, size_t count, lth_table **rows,
                                  lth_proposals **proposals, lth_error *err);
/* What was measured: a table with the columns of the models and the targets. Rows that were not
 * asked for are welcome; a row may come again as a repeat, but with the value it had in an earlier
 * round only where that is allowed (lth_design_allow_repeats()): then it is a file told twice. An
 * empty target stays pending. A row that is no number is LTH_EFORMAT with its line, and then
 * nothing is taken. */
LTH_API lth_status lth_design_tell(lth_design *design, const lth_table *results, lth_error *err);
/* Rows that are no longer being measured: pending no more. */
LTH_API lth_status lth_design_forget(lth_design *design, const lth_table *rows, lth_error *err);

typedef struct lth_design_report {
    size_t rounds, measured, pending; /* rounds: times something was told                        */
    double best;                      /* of the first target; NaN = nothing was measured         */
    size_t best_row;                  /* of lth_design_rows(); LTH_NONE likewise                 */
    double seconds;                   /* of the last fit                                         */
} lth_design_report;
LTH_API const lth_design_report *lth_design_reported(const lth_design *design);
/* All rows: the models' columns, targets, and round (in which it was measured, empty = pending),
 * asked (in which it was asked for), mean, sd and acquisition as they were when it was asked for.
 * Borrowed until the next call that changes the campaign. */
LTH_API const lth_table *lth_design_rows(const lth_design *design);
/* The model of the last ask; NULL = none yet. Borrowed. */
LTH_API lth_model *lth_design_model(const lth_design *design);
/* A setting as it is written in design.tsv: "kernel", "target", "space", or one of the caller's;
 * NULL = there is none. */
LTH_API const char *lth_design_setting(const lth_design *design, const char *name);
/* The i-th target; NULL past the last. */
LTH_API const char *lth_design_target(const lth_design *design, size_t i);
/* The candidates, once they were asked for; NULL of a space. And which of them the i-th row of the
 * last ask is; LTH_NONE of a space. The i-th of its proposals is the i-th of its rows. */
LTH_API const lth_table *lth_design_candidates(const lth_design *design);
LTH_API size_t lth_design_asked(const lth_design *design, size_t i);
/* What a folder cannot keep, for this object: a second model (borrowed), as `feasible` of
 * lth_propose_options, and a check of texts, as `valid` of lth_search_options. NULL = none. */
LTH_API void lth_design_use(lth_design *design, const lth_model *feasible, lth_valid_fn *valid,
                            void *user);
/* Whether lth_design_tell() takes rows again that are measured already with the same value; at
 * first as `repeats` of lth_propose_options says. */
LTH_API void lth_design_allow_repeats(lth_design *design, bool allow);

/* ---- A model looked at ----------------------------------------------------------------------- */

/* Leave-one-out predictions of the training rows: y, mean and sd, in the target's units. Not for
 * labels. Of targets that learn from each other one number is left out, and the rest of its row
 * stays known; NaN where the row does not have the target. */
LTH_API lth_status lth_gp_leave_one_out(const lth_gp *gp, size_t target, double *y, double *mean,
                                        double *sd, lth_error *err);
/* The same of all that a prediction has, of one target, by row; y gets the truth. */
LTH_API lth_status lth_gp_left_out(const lth_gp *gp, size_t target, double *y,
                                   const lth_gp_prediction *to, size_t size, lth_error *err);

/* z = warp(y) of a target, centred and scaled as the model sees it; y itself where none is. */
LTH_API double lth_gp_warped(const lth_gp *gp, size_t target, double y);

/* The i-th step of the search that the model keeps. */
LTH_API const lth_gp_step *lth_gp_step_at(const lth_gp *gp, size_t i);

/* ---- A Gram matrix on disk ------------------------------------------------------------------- */

/* A folder of tiles, an array of Zarr version 2 that other programs open too: see docs/data.md. */
typedef struct lth_gram_store_options {
    size_t size;          /* set by lth_gram_store_options_init()                               */
    bool resume;          /* go on with a store that is there; without it that is an error      */
    size_t part, parts;   /* only every parts-th piece of work, from the part-th on; default 1 of
                             1. Other processes may do the others at the same time: several parts
                             join a store that is there, as with `resume`                      */
    size_t tile;          /* rows and columns of a tile; 0 (default) = what suits the matrix, or
                             what the store has                                                */
    lth_precision values; /* how they are written; default F64, half of it as F32              */
} lth_gram_store_options;
LTH_API void lth_gram_store_options_init(lth_gram_store_options *options);

/* lth_gram() tile by tile into the folder `path`, with the same bits (of F32: rounded), and memory
 * for a few tiles. A tile appears when it is complete, and one that is there is not computed again.
 * So whatever ends this call, even a crash, a call with `resume` goes on from there. It is refused
 * for another kernel, other values, other rows, and what is not such a store. */
LTH_API lth_status lth_gram_store(const lth_kernel *kernel, const lth_items *rows,
                                  const lth_items *cols, const char *path,
                                  const lth_gram_store_options *options, lth_error *err);

/* A store, complete or not. */
typedef struct lth_store lth_store;
typedef struct lth_store_info {
    size_t rows, cols, tile_rows, tile_cols;
    size_t tiles, missing;    /* missing when it was opened */
    bool symmetric;           /* of rows against themselves */
    lth_precision values;     /* as they are written        */
    lth_precision precision;  /* as they were computed      */
    const char *kernel, *isa; /* the kernel with its values */
    const char *made_by;      /* "luthier 0.1.0"            */
} lth_store_info;
LTH_API lth_status lth_store_open(const char *path, lth_store **out, lth_error *err);
LTH_API void lth_store_free(lth_store *store);
LTH_API const lth_store_info *lth_store_described(const lth_store *store);

/* K[i * ld + j] = value of row + i and col + j. Of a complete store only. */
LTH_API lth_status lth_store_read(const lth_store *store, size_t row, size_t rows, size_t col,
                                  size_t cols, double *K, size_t ld, lth_error *err);

/* Let lth_gram() of these items against themselves read a store instead: it must be complete, and
 * of the same kernel and rows. Until the items are freed. */
LTH_API lth_status lth_items_use_store(lth_items *items, const char *path, lth_error *err);

/* ---- The machine --------------------------------------------------------------------------- */

/* What one core of this machine does, measured in about a second: fused multiply-adds per second
 * (lanes counted) with the context's instruction set, and the BLAS with its double-precision matrix
 * product in floating-point operations per second. `blas` and `core` are static texts. */
typedef struct lth_machine {
    double fma_f64, fma_f32;
    double dgemm_flops;
    const char *blas, *core;
} lth_machine;

LTH_API lth_status lth_machine_measure(lth_ctx *ctx, lth_machine *out, size_t size, lth_error *err);

/* Cells of string kernel tables, |s| |t| summed over the pairs that lth_gram() computes, times
 * order: the unit of the speed figures. */
LTH_API double lth_gram_cell_orders(const lth_kernel *kernel, const lth_items *rows,
                                    const lth_items *cols);

#ifdef __cplusplus
}
#endif
#endif
