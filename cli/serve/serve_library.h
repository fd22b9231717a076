/* The functions of libmicrohttpd that luthier serve uses. The library is loaded when a server
 * starts: it brings a dozen others along, which no other command should wait for. */
#ifndef CLI_SERVE_LIBRARY_H
#define CLI_SERVE_LIBRARY_H

#include <microhttpd.h>
#include <stdbool.h>

#define HTTP_FUNCTIONS(X)                                                                          \
    X(start_daemon)                                                                                \
    X(quiesce_daemon)                                                                              \
    X(stop_daemon)                                                                                 \
    X(get_connection_info)                                                                         \
    X(lookup_connection_value)                                                                     \
    X(get_connection_values)                                                                       \
    X(create_response_from_buffer)                                                                 \
    X(add_response_header)                                                                         \
    X(queue_response)                                                                              \
    X(destroy_response)

typedef struct http_library {
#define HTTP_FIELD(name) __typeof__(MHD_##name) *name;
    HTTP_FUNCTIONS(HTTP_FIELD)
#undef HTTP_FIELD
} http_library;

/* Ready once http_load() was true; false = there is no libmicrohttpd here. */
extern http_library http;
bool http_load(void);

#endif
