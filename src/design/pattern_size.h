/* How long a regular expression is with its repeats written out, as regcomp() does it: (A+)+ is
 * AA*(AA*)*, four letters. A few dozen characters can ask for more memory than there is. */
#ifndef LTH_PATTERN_SIZE_H
#define LTH_PATTERN_SIZE_H

enum { LTH__PATTERN_LEVELS = 49 };

/* INFINITY = it has more levels of brackets than that. */
double lth__pattern_size(const char *pattern);

#endif
