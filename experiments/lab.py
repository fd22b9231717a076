"""What the experiments share: commands that are run once, rows that are saved as soon as they are there.

An experiment is a module with a `measure(lab)` that declares its rows: a name, the commands that produce it, and a function
that makes numbers of what they print. A row whose commands have not changed is not run again. Paths inside of the data or work
folder are written without the folder, so that a command line is the same on every machine.
"""

import json, os, re, shlex, shutil, subprocess, sys, tempfile, time

from sets import maker_of

HERE = os.path.dirname(os.path.abspath(__file__))


def data_folder():
    """Where the tables are: LUTHIER_DATA, what experiments/prepare makes, or a folder shared/data beside the repository."""
    made, beside = os.path.join(HERE, "data", "tables"), os.path.normpath(os.path.join(HERE, "../../shared/data"))
    default = beside if os.path.isdir(beside) and not os.path.isdir(made) else made
    return os.environ.get("LUTHIER_DATA") or default


def missing_table(file, folder):
    """What to say, and to do, when a table is not there."""
    owner = maker_of(file)
    hint = "; experiments/prepare %s RAW... makes it (experiments/data/README.md says of what)" % owner.name if owner else ""
    return Missing("there is no %s in %s%s" % (file, folder, hint))


class Missing(Exception):
    """A data set, or a program, is not there: the experiment is skipped, which is no failure."""


class Failed(Exception):
    """A command did not do what it should."""


class Enough(Exception):
    """As many new rows as were asked for."""


class Once(list):
    """A command whose output serves several rows: one run for each process."""


class Weighed(list):
    """A command whose peak memory is measured, too."""


# A child's peak is never below that of the process that started it, so a small one does
WEIGH = """import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
print(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open(sys.argv[1], "w"))
sys.exit(code)"""


class Answer:
    def __init__(self, out, err, seconds):
        self.out, self.err, self.seconds, self.bytes = out, err, seconds, None

    def json(self):
        return json.loads(self.out)

    def lines(self):
        """The cells of a table, without its header."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]


class Store:
    """One experiment's rows in a JSON file."""

    def __init__(self, folder, name):
        self.path, self.name = os.path.join(folder, name + ".json"), name
        self.rows = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.rows = json.load(file)["rows"]

    def save(self, name, record):
        self.rows[name] = record
        self.write()

    def write(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as out:
            out.write(dump({"experiment": self.name, "rows": self.rows}))
        os.replace(self.path + ".new", self.path)


def dump(content):
    """JSON with a line for each row's part, so that a difference is easy to read; seven digits are enough."""
    rows = []
    for name, record in content["rows"].items():
        parts = ["   %s: %s" % (json.dumps(key), json.dumps(rounded(value))) for key, value in record.items()]
        rows.append("  %s: {\n%s\n  }" % (json.dumps(name), ",\n".join(parts)))
    return '{\n "experiment": %s,\n "rows": {\n%s\n }\n}\n' % (json.dumps(content["experiment"]), ",\n".join(rows))


def rounded(value):
    if isinstance(value, float):
        return float("%.7g" % value)
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, (list, tuple)) else value


def accelerator():
    """The GPU of `--device cuda`."""
    words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    found = shutil.which(words[0]) and subprocess.run(words, text=True, capture_output=True).stdout.splitlines()
    return found[0].strip() if found else "unknown GPU"


def machine(on_device=False):
    name = "unknown CPU"
    if on_device:
        name = accelerator()
    elif os.path.exists("/proc/cpuinfo"):
        found = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
        name = found[1].strip() if found else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "%s, %d cores" % (name, cores)


class Lab:
    """Where one experiment is made. With plan=True nothing is run: rows are only listed, in `planned`."""

    def __init__(self, options, store, plan=False, say=print):
        self.o, self.store, self.plan, self.say = options, store, plan, say
        self.quick, self.device = options.quick, options.device
        self.folder = None if plan else tempfile.TemporaryDirectory(prefix="luthier-")
        self.makers, self.made, self.once, self.planned, self.fresh = {}, set(), {}, [], 0

    def close(self):
        if self.folder:
            self.folder.cleanup()

    # Files

    def data(self, name):
        path = os.path.join(self.o.data, name)
        if not self.plan and not os.path.exists(path):
            raise missing_table(name, self.o.data)
        return path

    def file(self, name):
        """A file of the work folder."""
        return os.path.join(self.folder.name if self.folder else "work", name)

    def table(self, name, make):
        """A table of the work folder; make() gives header and rows when a command first needs it."""
        path = self.file(name)
        self.makers[path] = make
        return path

    def program(self, name, *more):
        """A C program of this folder, compiled when first needed."""
        source, path = os.path.join(HERE, "programs", name + ".c"), self.file(name)
        self.makers[path] = Once(["cc", "-O3", "-march=native", "-std=gnu17", source, "-o", path, *more])
        return path

    # Rows

    def row(self, name, steps, values, estimate=5.0):
        """One row. Steps are commands (lists) and functions in between; values(answers) its numbers."""
        if self.o.only not in name:
            return
        commands = self.texts([s for s in steps if isinstance(s, list)])
        record = self.store.rows.get(name)
        done = record is not None and record["commands"] == commands and not self.o.again
        self.planned.append((name, commands, done, record["seconds"] if done and record["seconds"] else estimate))
        if done or self.plan:
            return
        if self.o.most and self.fresh >= self.o.most:
            raise Enough
        began, load = time.monotonic(), os.getloadavg()[0]
        answers = []
        for step in steps:
            if isinstance(step, list):
                answers.append(self.run(step))
            else:
                step()
        where = machine(any(is_on_device(line) for line in commands))
        measured = {"when": time.strftime("%Y-%m-%d"), "machine": where, "load": load, "luthier": self.version()}
        record = {
            "commands": commands,
            "values": values(answers),
            "seconds": time.monotonic() - began,
            "quick": self.quick,
            "measured": measured,
        }
        self.store.save(name, record)
        self.fresh += 1
        self.say("%s: %s, %.1f s" % (self.store.name, name, record["seconds"]))

    def version(self):
        return self.run(Once([self.o.luthier, "--version"])).out.strip()

    # Commands

    def luthier(self, template, *values):
        """A command: each {} of the template stands for a value, or for all of a list."""
        command, left = [self.o.luthier], iter(values)
        for word in template.split():
            value = next(left) if word == "{}" else word
            command += map(str, value) if isinstance(value, (list, tuple)) else [str(value)]
        return command

    def run(self, command):
        key = tuple(command)
        if isinstance(command, Once) and key in self.once:
            return self.once[key]
        for argument in command:
            self.make(argument)
        weighed, peak = isinstance(command, Weighed), self.file("peak")
        words = [sys.executable, "-c", WEIGH, peak, *command] if weighed else command
        if not shutil.which(command[0]):
            raise Missing("there is no %s" % command[0])
        began = time.monotonic()
        done = subprocess.run(words, text=True, stdin=subprocess.DEVNULL, capture_output=True)
        answer = Answer(done.stdout, done.stderr, time.monotonic() - began)
        if done.returncode:
            raise Failed("%s\n%s(exit status %d)" % (self.text(command), done.stderr, done.returncode))
        if isinstance(command, Once):
            self.once[key] = answer
        if weighed:
            answer.bytes = int(read_lines(peak)[0])
        return answer

    def make(self, path):
        maker = self.makers.get(path)
        if maker is None or path in self.made:
            return
        self.made.add(path)
        if isinstance(maker, Once):
            self.run(maker)
        else:
            write_table(path, *maker())

    def text(self, command):
        folders = [os.path.join(f, "") for f in (self.o.data, self.folder.name if self.folder else "work", HERE)]
        names = {self.o.luthier: "luthier", sys.executable: "python3"}
        words = [names.get(command[0], os.path.basename(command[0]))]
        for word in command[1:]:
            for folder in folders:
                word = word.removeprefix(folder)
            words.append(word)
        return shlex.join(words)

    def texts(self, commands):
        """Command lines; one that is repeated to time it is written once, compilers first."""
        lines = []
        for command in commands:
            made = self.makers.get(command[0])
            line = self.text(command)
            if isinstance(made, Once) and self.text(made) not in lines:
                lines.append(self.text(made))
            if line not in lines:
                times = sum(c == command for c in commands)
                lines.append(line)
                if times > 1:
                    lines.append("# %d times" % times)
        return lines


def is_on_device(line):
    """Whether a command line asks for a GPU."""
    return "--device" in shlex.split(line)


def write_table(path, header, rows):
    with open(path, "w", encoding="utf-8") as out:
        for row in [header, *rows]:
            out.write("\t".join(row) + "\n")


def read_table(path):
    """Header and rows of a table without quotes."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return rows[0], rows[1:]


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file]
