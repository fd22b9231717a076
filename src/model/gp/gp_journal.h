/* The journal of a fit: every evaluation of its searches is kept in a file, so that a fit that was
 * killed goes on where it was. The same fit asks for the same points, and gets for those that the
 * journal has the very bits that it got before.
 *
 *     "LTHJRNL1"  frame of the identity  frames of evaluations ...
 *     frame       u64 length, u32 CRC-32 of it, u32 CRC-32 of the bytes, bytes
 *     identity    lines of text: whatever the evaluations depend on
 *     evaluation  f64: search, whether there is none, evidence, theta, jitter, its gradient, and
 *                 what the posterior carries on
 *
 * A last frame that is not complete was being written when the fit was killed, and goes. Anything
 * else that is wrong, and a journal of another fit, is refused and stays as it is.
 */
#ifndef LTH_GP_JOURNAL_H
#define LTH_GP_JOURNAL_H

#include "model/gp/gp.h"

/* That of options->journal, made if there is none, for a fit by this plan. */
lth_status lth__journal_open(const lth_gp *gp, const lth_gp_options *options,
                             const lth_gp_plan *plan, lth__journal **out, lth_error *err);
void lth__journal_close(lth__journal *j);

/* Another search of the fit begins. `j` may be NULL, here and below. */
void lth__journal_search(lth__journal *j);

/* lth__gp_evidence() with its gradient, from the journal if it is there. A file that cannot be
 * written ends the journal with a warning, not the fit. */
lth_status lth__journal_evidence(lth__journal *j, lth_gp *gp, lth__gram *gram, double *evidence,
                                 double *gradient, lth_error *err);

#endif
