"""What a disk may hold after the power has failed: all that a program did to files, as LTH_FAULTS_LOG notes it, is played
again up to some moment, and only what was synced until then is sure to be there. Of the rest, bytes may be there, in
part, or be zeros; and each new name, rename and removal since the last sync of its folder may have happened or not."""

import os
import random


class File:
    def __init__(self, content=b"", old=False):
        self.content, self.synced = bytearray(content), bytes(content) if old else b""

    def variants(self):
        """What of it may be on the disk: all, what was synced, half of the rest, zeros for the rest."""
        whole, sure = bytes(self.content), self.synced
        rest = len(whole) - len(sure)
        if whole == sure:
            return [whole]
        if rest <= 0 or not whole.startswith(sure):  # it was cut
            return [whole, sure]
        return [whole, sure, whole[:len(sure) + rest // 2], sure + bytes(rest),
                whole[:len(sure) + rest // 2] + bytes(rest - rest // 2)]


class Disk:
    """Names are paths relative to the folder in which the program runs."""

    def __init__(self, folder):
        self.folder = folder
        self.names = {".": None}  # of folders None
        self.sure = {".": None}
        self.pending = {}  # by folder: changes of names that were not synced, each a list of (name, file or "gone")
        self.open = {}
        for root, folders, files in os.walk(folder):
            for name in folders:
                self.names[self.relative(os.path.join(root, name))] = None
            for name in files:
                path = os.path.join(root, name)
                with open(path, "rb") as f:
                    self.names[self.relative(path)] = File(f.read(), old=True)
        self.sure = dict(self.names)

    def relative(self, path):
        return os.path.relpath(os.path.join(self.folder, path), self.folder)

    def change(self, folder_of, *effects):
        self.pending.setdefault(os.path.dirname(folder_of) or ".", []).append(list(effects))
        for name, what in effects:
            if what == "gone":
                self.names.pop(name, None)
            else:
                self.names[name] = what

    def play(self, operation, number, path, other, content):
        name = self.relative(path)
        if operation in ("open", "append"):
            if name not in self.names and other and not name.startswith(".."):
                self.change(name, (name, File()))
            self.open[number] = [name, self.names.get(name), 0]
        elif operation == "write" and number in self.open and self.open[number][1]:
            self.open[number][1].content += content  # nobody here seeks
        elif operation == "resize" and number in self.open and self.open[number][1]:
            del self.open[number][1].content[int(path):]
        elif operation == "sync" and number in self.open:
            self.sync(*self.open[number][:2])
        elif operation == "close":
            self.open.pop(number, None)
        elif operation == "rename":
            self.change(self.relative(other), (self.relative(other), self.names[name]), (name, "gone"))
        elif operation == "link":
            self.change(self.relative(other), (self.relative(other), self.names[name]))
        elif operation == "mkdir":
            self.change(name, (name, None))
        elif operation in ("unlink", "rmdir") and name in self.names:
            self.change(name, (name, "gone"))

    def sync(self, name, file):
        if file:
            file.synced = bytes(file.content)
        for effects in self.pending.pop(name, []) if not file else ():
            self.apply(self.sure, effects)

    @staticmethod
    def apply(names, effects):
        for name, what in effects:
            if what == "gone":
                names.pop(name, None)
            else:
                names[name] = what

    def states(self, rng, draws):
        """Some of what the disk may hold: nothing that is not sure, everything, each change alone left out or done, and
        some draws; each with variants of what files have."""
        changes = [effects for listed in self.pending.values() for effects in listed]
        none, every = [False] * len(changes), [True] * len(changes)
        choices = [none, every]
        for i in range(len(changes)):
            choices += [none[:i] + [True] + none[i + 1:], every[:i] + [False] + every[i + 1:]]
        choices += [[rng.random() < 0.5 for _ in changes] for _ in range(draws)]
        for chosen in choices:
            names = dict(self.sure)
            for effects, happened in zip(changes, chosen):
                if happened:
                    self.apply(names, effects)
            files = {name: file for name, file in names.items() if file}
            there = {name: file for name, file in files.items() if self.is_reachable(name, names)}
            for variant in range(5):
                yield self.contents(there, variant), [n for n, f in names.items() if f is None]

    @staticmethod
    def contents(files, variant):
        out = {}
        for name, file in files.items():
            variants = file.variants()
            out[name] = variants[min(variant, len(variants) - 1)]
        return out

    @staticmethod
    def is_reachable(name, names):
        """Whether all its folders are on the disk."""
        folder = os.path.dirname(name)
        while folder:
            if folder not in names:
                return False
            folder = os.path.dirname(folder)
        return True


def read_log(path):
    """(operation, descriptor, path, other path, bytes) of each call."""
    with open(path, "rb") as log:
        while line := log.readline():
            operation, number, name, other, size = line.rstrip(b"\n").decode().split("\t")
            yield operation, int(number), name, other, log.read(int(size))


def states_after(folder, log, seed, draws=2):
    """Every state that is possible at any moment, once: (contents by name, folders, whether the program was done)."""
    rng = random.Random(seed)
    disk, seen = Disk(folder), set()
    operations = list(read_log(log))
    for i, operation in enumerate([None, *operations]):
        if operation:
            disk.play(*operation)
        done = i == len(operations)
        for contents, folders in disk.states(rng, draws):
            key = (tuple(sorted(contents.items())), tuple(sorted(folders)), done)
            if hash(key) not in seen:
                seen.add(hash(key))
                yield contents, folders, done
