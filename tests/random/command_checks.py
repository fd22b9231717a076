"""What must hold of any command, whatever its table and its options are."""
import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess

CODES = (0, 1, 2, 3)
SECONDS = 60 # of processor time, and of the clock that many times two
NOT_FINITE = re.compile(rb"(?<![\w.#/&-])[-+]?(?:nan|inf|NaN|[Ii]nfinity)(?![\w-])") # NAN is of N and A


class Finding(Exception):
    """A check that failed, of which command, and how."""

    def __init__(self, check, command, text):
        super().__init__("%s: %s: %s" % (check, command, text))
        self.check, self.command, self.text = check, command, text

    def same(self, other):
        return other is not None and (self.check, self.command) == (other.check, other.command)


class Step:
    """One command: its words, its options, what it writes, and whether it must succeed where `needs` is there."""

    def __init__(self, words, options, writes=(), needs=(), must=False):
        self.words, self.options, self.writes, self.needs, self.must = words, options, list(writes), list(needs), must

    def copy(self):
        return Step(list(self.words), [list(o) for o in self.options], self.writes, self.needs, self.must)

    def line(self):
        out = list(self.words)
        for name, value in self.options:
            out.append("--" + name)
            if str(value) or name in ("kernel", "target", "with"):
                out.append(str(value))
        return out


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def listing(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


# ---- What was written ----

def tensors(data):
    """A model without what differs from run to run: the seconds, and the checksum."""
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + size]), data[8 + size:]
    texts = {k: v for k, v in header.pop("__metadata__").items() if k != "checksum"}
    out = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        values = body[begin:end]
        if name == "report": # which show prints
            continue
        if name == "steps":
            values = b"".join(values[i:i + 40] for i in range(0, len(values), 48))
        out[name] = (t["dtype"], t["shape"], values)
    return texts, out


def is_model(data):
    return data[8:9] == b"{" and b"__metadata__" in data[:2000]


def without_times(data):
    """A page or a table without what a clock said."""
    if is_model(data):
        try:
            return tensors(data)
        except (ValueError, KeyError, struct.error):
            return data
    data = re.sub(rb'("seconds":)[-+\d.e]+', rb"\1", data)
    data = re.sub(rb"(seconds</t[dh]>\s*<td[^>]*>)[^<]*", rb"\1", data)
    data = re.sub(rb"\b\d[\d.e-]* (ms|s|seconds?|minutes?|hours?)\b", b"TIME", data)
    data = re.sub(rb"(?m)^seconds\b.*$", b"", data)
    lines = data.split(b"\n")
    at = lines[0].split(b"\t").index(b"seconds") if b"seconds" in lines[0].split(b"\t") else None
    if at is not None:
        lines = [b"\t".join(cell for i, cell in enumerate(line.split(b"\t")) if i != at) for line in lines]
    return b"\n".join(lines)


def numpy_values(data):
    size = struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<%dd" % ((len(data) - 10 - size) // 8), data[10 + size:])


def without_styles(data):
    return re.sub(rb"(?s)<(style|script)\b.*?</\1>", b"", data)


def not_finite(name, data):
    """What is not a number in an output, or None."""
    if data[:6] == b"\x93NUMPY":
        return next(("%r" % x for x in numpy_values(data) if not math.isfinite(x)), None)
    if is_model(data) or b"\0" in data or ".zarr" in name:
        return None
    data = without_styles(data)
    hit = NOT_FINITE.search(data)
    return data[max(0, hit.start() - 60):hit.end() + 20].decode("utf-8", "replace") if hit else None


def bad_json(text):
    def refuse(word):
        raise ValueError(word)
    try:
        lines = text.decode().splitlines()
        for line in lines:
            json.loads(line, parse_constant=refuse)
    except ValueError as e:
        try:
            json.loads(text, parse_constant=refuse)
        except ValueError:
            return "%s in %r" % (e, text[:200])
    return None


# ---- One command ----

class Runner:
    """Runs the commands of a case in a folder of its own, for each number of threads, and looks at all that comes."""

    def __init__(self, program, manual, folder):
        self.program, self.manual, self.folder = program, manual, folder
        self.commands = self.refused = 0

    def check(self, case):
        """The first finding, or None."""
        try:
            one, two = (self.run_all(case, threads) for threads in (1, 2))
            self.compare(case, one, two)
        except Finding as finding:
            return finding
        return None

    def run_all(self, case, threads):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        for name, data in case.files().items():
            with open(os.path.join(self.folder, name), "wb") as f:
                f.write(data)
        inputs = set(listing(self.folder))
        outcomes = []
        for step in case.steps:
            if all(os.path.exists(os.path.join(self.folder, need)) for need in step.needs):
                outcomes.append((step, *self.run(step, threads)))
        files = {}
        for name in listing(self.folder):
            if name not in inputs:
                with open(os.path.join(self.folder, name), "rb") as f:
                    files[name] = f.read()
        return outcomes, files

    def start(self, line):
        with open(os.path.join(self.folder, "..", "stderr"), "w+b") as err, open(os.path.join(self.folder, "..", "stdout"), "w+b") as out:
            process = subprocess.Popen([self.program, *line], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       preexec_fn=limits, env={**os.environ, "LC_ALL": "C.UTF-8"})
            try:
                code = process.wait(SECONDS * 2)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            out.seek(0), err.seek(0)
            return code, out.read(), err.read()

    def run(self, step, threads):
        command, line = step.words[0], step.line()
        if "threads" in self.manual.options[command]:
            line += ["--threads", str(threads)]
        before = set(listing(self.folder))
        code, out, err = self.start(line)
        self.commands += 1
        self.refused += code != 0

        def fail(check, text):
            raise Finding(check, command, text)
        if code in (-signal.SIGKILL, -signal.SIGXCPU):
            fail("time", "it did not end in %d seconds" % SECONDS)
        if code not in CODES:
            fail("exit code", "%d; %s" % (code, err[-300:].decode("utf-8", "replace")))
        new = [name for name in listing(self.folder) if name not in before]
        self.look_at_files(step, code, new, fail)
        self.look_at_messages(code, err, fail)
        if code == 0:
            self.look_at_numbers(step, new, out, fail)
        elif step.must and b"is not a finite number" not in err:
            fail("the model is read", "exit code %d; %s" % (code, err[-300:].decode("utf-8", "replace")))
        return code, out

    @staticmethod
    def look_at_files(step, code, new, fail):
        writes = step.writes + [v for _, v in step.options if str(v).startswith("out-")]
        other = [n for n in new if not any(n == w or n.startswith(w + "/") for w in writes)]
        if other:
            fail("left behind", "%s, exit code %d" % (", ".join(other), code))
        kept = ["out-journal"] # of a fit that failed it stays, to go on from
        half = [n for n in new if code != 0 and n not in kept and "zarr" not in n and not ("lab" in step.needs and n.startswith("lab/"))]
        if half:
            fail("half-written", "%s, exit code %d" % (", ".join(half), code))

    @staticmethod
    def look_at_messages(code, err, fail):
        if code == 0:
            return
        try:
            text = err.decode()
        except UnicodeDecodeError:
            fail("message", "not UTF-8: %r" % err[:300])
        if re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text):
            fail("message", "control characters: %r" % text[:300])
        lines = [x for x in text.splitlines() if x.startswith("luthier: ") and not x.startswith("luthier: warning: ")]
        if not lines or len(lines[-1]) < 20:
            fail("message", "no reason: %r" % text[:300])
        if re.search(r"memory|cannot (?:open|write)|internal|unknown error", lines[-1]) and code == 1 and "memory" not in lines[-1]:
            fail("message", lines[-1])

    def look_at_numbers(self, step, new, out, fail):
        outputs = {"standard output": out}
        for name in new:
            with open(os.path.join(self.folder, name), "rb") as f:
                outputs[name] = f.read()
        if b"ascent direction" in out: # of Fortran
            fail("printed by a library", repr(out[:200]))
        for name, data in outputs.items():
            bad = not_finite(name, data)
            if bad:
                fail("not finite", "%s has %r" % (name, bad))
        if step.words[0] == "predict" and not {"json", "score"} & set(dict(step.options)):
            for line in outputs.get("P", out).splitlines()[1:]:
                if b"-" in line.split(b"\t")[2:]:
                    fail("not finite", "predicted is %r" % line[:200])
        if "json" in dict(step.options):
            bad = bad_json(out)
            if bad:
                fail("JSON", bad)

    @staticmethod
    def compare(case, one, two):
        for (step, code, out), (_, other_code, other_out) in zip(one[0], two[0]):
            if code != other_code or without_times(out) != without_times(other_out):
                raise Finding("threads", step.words[0], "exit codes %d and %d, %s" % (code, other_code, first_difference(out, other_out)))
        names = set(one[1]) | set(two[1])
        for name in sorted(names):
            a, b = one[1].get(name, b""), two[1].get(name, b"")
            if "journal" not in name and without_times(a) != without_times(b):
                raise Finding("threads", case.steps[0].words[0], "%s: %s" % (name, first_difference(a, b)))


def first_difference(a, b):
    if is_model(a) and is_model(b):
        (texts, x), (other_texts, y) = tensors(a), tensors(b)
        return "arrays %s differ" % [n for n in x if x[n] != y.get(n)] if texts == other_texts else "texts differ"
    for left, right in zip(a.splitlines(), b.splitlines()):
        if without_times(left) != without_times(right):
            return "%r and %r" % (left[:200], right[:200])
    return "%d and %d bytes" % (len(a), len(b))
