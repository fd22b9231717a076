/* How long a regular expression is with its repeats written out, as regcomp() does it: (A+)+ is
 * AA*(AA*)*, four letters. A few dozen characters can ask for more memory than there is. */
#ifndef LTH_PATTERN_SIZE_H
#define LTH_PATTERN_SIZE_H

/* INFINITY = its brackets are too deep to tell. */
double lth__pattern_size(const char *pattern);

#endif
