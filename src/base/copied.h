/* Functions of which each caller has a copy, made for its constants. */
#ifndef LTH_COPIED_H
#define LTH_COPIED_H

/* One for all where nothing is optimised: for debuggers, and to count branches. */
#ifdef __OPTIMIZE__
#define LTH__COPIED static inline __attribute__((always_inline))
#else
#define LTH__COPIED static __attribute__((unused))
#endif

#endif
