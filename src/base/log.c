/* Handing a line of text to the caller's log. */
#include <stdarg.h>
#include <stdio.h>

#include "base/context.h"
#include "base/text.h"

void lth__log(const lth_ctx *ctx, lth_log_level level, const char *format, ...) {
    if (ctx == NULL || ctx->options.log == NULL) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) return;
    if ((size_t)length >= sizeof text) text[lth__utf8_check(text, sizeof text - 1)] = '\0';
    ctx->options.log(ctx->options.user, level, text);
}

lth_status lth__tell(const lth_ctx *ctx, const char *what, double done, double total,
                     lth_error *err) {
    const lth_ctx_options *to = &ctx->options;
    if (!to->progress || !to->progress(to->user, what, done, total)) return LTH_OK;
    return lth__fail(err, LTH_ECANCELED, "interrupted");
}
