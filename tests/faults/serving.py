"""luthier serve under faults: it starts or says why not, answers or closes, goes on with the next request, and stops."""

import http.client
import json
import select
import signal
import subprocess
import time

REQUESTS = 3
ROW = json.dumps({"text": "good lamp radio"})


def ask(port):
    """Status and body of the answer, or None where the connection just ends; "hangs" where nothing comes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    try:
        connection.request("POST", "/predict", ROW, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except TimeoutError:
        return "hangs"
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def read_port(server, seconds):
    """From what it prints when it is ready; None when it ends before."""
    until, line = time.monotonic() + seconds, b""
    while not line.endswith(b"\n") and time.monotonic() < until:
        if select.select([server.stdout], [], [], 0.2)[0]:
            more = server.stdout.read1(4096)
            if not more:
                return None
            line += more
    return int(line.split(b"127.0.0.1:")[1].split(b"/")[0]) if b"127.0.0.1:" in line else None


def serve(shop, command, folder, seconds, **variables):
    """Exit code (None = it hangs), answers, messages."""
    environment = shop.environment(command, **variables)
    environment.pop("LTH_FAULTS_CLOCK")
    server = subprocess.Popen([shop.luthier, *command.words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        port = read_port(server, seconds)
        answers = [ask(port) for _ in range(REQUESTS)] if port else []
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        _, err = server.communicate(timeout=seconds)
        return server.returncode, answers, err.decode(errors="replace")
    except subprocess.TimeoutExpired:
        server.kill()
        server.communicate()
        return None, [], ""


def faults_of(code, answers, whole):
    """What is wrong with the answers of a server that ended with this code, but for its messages."""
    if "hangs" in answers:
        yield "a request hangs"
    good = [a for a in answers if a and a[0] == 200]
    if any(a[1] != whole for a in good):
        yield "an answer is another one"
    if code == 0 and len(good) < REQUESTS - 1:
        yield f"{len(good)} of {REQUESTS} requests were answered: {answers}"
    if code == 0 and not answers:
        yield "it ended without having served"
