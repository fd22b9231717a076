#include "explain_support.h"

const char explain_lines[] = "text\ttree\tf1\tf2\ty\tz\tkind\tthree\n"
                             "the lamp is not good at all\t(S (A a) (B b))\t1\t0.5\t1\t3\tno\tx\n"
                             "the lamp is very good\t(S (A a) (B c))\t2\t0.25\t9\t1\tyes\ty\n"
                             "not good not good\t(S (A (C a)) (B b))\t3\t-1\t2\t2\tno\tz\n"
                             "good\t(S (B b))\t2.5\t1\t8\t4\tyes\tx\n"
                             "a radio that is good\t(T (A a) (B c))\t1\t1\t7\t0\tyes\ty\n"
                             "bad and loud and bad\t(S (A a) (B b) (B c))\t0\t2\t1\t5\tno\tz\n"
                             "\t(S (A a))\t0.5\t0\t4\t2.5\tno\tx\n"
                             "very very good lamp is it\t(S (A x) (B b))\t4\t-2\t9.5\t1\tyes\tz\n";

/* New rows, with words and trees that training did not have. */
const char explain_new_lines[] = "text\ttree\tf1\tf2\n"
                                 "The lamp is  really not Good\t(S (A a) (B (D b)))\t2\t1\n"
                                 "good good radio zyzzyva\t(S (A a) (B b))\t-1\t0.3\n"
                                 "\t(S (A x) (B b) (B c))\t0\t0\n";

lth_gp *explain_fit(lth_ctx *c, const char *kernel, const char *target, const char *vectors) {
    lth_error err = {0};
    lth_gp *gp = NULL;
    lth_gp_options options = support_fixed();
    options.vectors = vectors;
    lth_table *table = support_table(c, explain_lines);
    support_ok(lth_gp_fit(c, kernel, table, &target, 1, &options, &gp, &err), &err);
    lth_table_free(table);
    return gp;
}

lth_reasons *explain_new(lth_gp *gp, const lth_table *table, size_t row, size_t target) {
    lth_error err = {0};
    lth_reasons *r = NULL;
    lth_explain_options options;
    lth_explain_options_init(&options);
    options.target = target;
    options.patterns = 200;
    support_ok(lth_gp_explain(gp, table, row, &options, &r, &err), &err);
    return r;
}

double explain_sum(const lth_reasons *r) {
    double sum = 0;
    for (size_t i = 0; i < lth_reasons_summarise(r)->parts; i++)
        sum += lth_reasons_part_at(r, i)->weight;
    return sum;
}
