/* What a cell looks like to somebody who expects a number. */
#ifndef LTH_NUMBER_FORM_H
#define LTH_NUMBER_FORM_H

#include <stddef.h>

typedef enum lth__number_form {
    LTH__FORM_TEXT,   /* no number                                                          */
    LTH__FORM_NUMBER, /* one that is read                                                   */
    LTH__FORM_COMMA,  /* "7,5", "1,234.5", "1.234,5": one in other countries or spreadsheets */
    LTH__FORM_LIST    /* "1,2,3", "1, 2": several, whatever a comma means                   */
} lth__number_form;

/* What to tell about a comma in a number. */
#define LTH__NO_COMMAS "write a decimal point, and nothing between thousands"

lth__number_form lth__number_form_of(const char *text, size_t length);

#endif
