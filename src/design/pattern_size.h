/* How long a regular expression is with its repeats written out, as regcomp() does it: (A+)+ is
 * AA*(AA*)*, four letters. A few dozen characters can ask for more memory than there is. */
#ifndef LTH_PATTERN_SIZE_H
#define LTH_PATTERN_SIZE_H

/* A level of the stack is taken for each bracket, here and by the C library. */
enum { LTH__PATTERN_LETTERS = 4000, LTH__PATTERN_LEVELS = 49 };

/* INFINITY = its brackets are deeper than that. */
double lth__pattern_size(const char *pattern);

#endif
