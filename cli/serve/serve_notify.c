/* What a service manager wants to know, by the protocol of systemd: a datagram for each change, to
 * the socket that it names in the environment. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/serve.h"

void notify_manager(const char *state) {
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = name ? strlen(name) : 0;
    if (length < 2 || length >= sizeof to.sun_path || !strchr("/@", *name)) return;
    memcpy(to.sun_path, name, length);
    if (*name == '@') to.sun_path[0] = 0; /* a name that is no file */
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0) return;
    /* Whoever does not listen is not told: that is no reason not to serve. */
    sendto(s, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(s);
}
