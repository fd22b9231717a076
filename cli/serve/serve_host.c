/* By which names clients may ask for the server. A page of another site, whose name was made to
 * mean this machine, asks by that name, and would read answers that are not for it. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "serve/serve.h"

enum { LONGEST_HOST = 255 };

static bool is_loopback_ipv4(const unsigned char at[4]) {
    return at[0] == 127;
}

static bool is_loopback_ipv6(const struct in6_addr *at) {
    return IN6_IS_ADDR_LOOPBACK(at) ||
           (IN6_IS_ADDR_V4MAPPED(at) && is_loopback_ipv4(&at->s6_addr[12]));
}

bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct in_addr *at = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
        return is_loopback_ipv4((const unsigned char *)at);
    }
    if (address->sa_family == AF_INET6)
        return is_loopback_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return false;
}

static bool names_loopback(const char *name) {
    struct in_addr v4;
    struct in6_addr v6;
    if (strcasecmp(name, "localhost") == 0) return true;
    if (inet_pton(AF_INET, name, &v4) == 1) return is_loopback_ipv4((const unsigned char *)&v4);
    return inet_pton(AF_INET6, name, &v6) == 1 && is_loopback_ipv6(&v6);
}

/* "[::1]:80" -> "::1", "example.org.:443" -> "example.org"; false = that is no host. */
static bool take_name(const char *host, char out[LONGEST_HOST + 1]) {
    bool bracket = *host == '[';
    const char *first = host + bracket, *end = first + strcspn(first, bracket ? "]" : ":");
    const char *rest = end + bracket;
    size_t length = (size_t)(end - first);
    if (bracket && *end != ']') return false;
    if (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")])) return false;
    if (!bracket && length > 1 && first[length - 1] == '.') --length; /* the root of all names */
    if (length == 0 || length > LONGEST_HOST) return false;
    memcpy(out, first, length);
    out[length] = 0;
    return true;
}

const char *host_name_obstacle(const char *name) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    struct in6_addr v6;
    size_t length = strlen(name);
    if (inet_pton(AF_INET6, name, &v6) == 1) return NULL;
    if (strstr(name, "://")) return "leave out the protocol";
    if (strchr(name, ':')) return "leave out the port: every port counts";
    if (length == 0 || length > LONGEST_HOST || strspn(name, letters) != length)
        return "a name has letters, digits, dots and hyphens";
    return name[length - 1] == '.' ? "leave out the last dot" : NULL;
}

bool host_is_ours(const host_names *names, const char *host) {
    char name[LONGEST_HOST + 1];
    if (names->any) return true;
    if (!take_name(host, name)) return false;
    if (names_loopback(name)) return true;
    for (size_t i = 0; i < names->given.count; ++i)
        if (strcasecmp(name, names->given.at[i]) == 0) return true;
    return false;
}
