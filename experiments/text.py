"""Markdown from results."""

import re, textwrap


def table(header, rows):
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


def show(value, form="%.3f"):
    """A number, or nothing if there is none."""
    return "" if value is None else form % value


def code(text):
    return "``` %s ```" % text if "`" in text else "`%s`" % text


def block(*lines):
    return "```\n%s\n```" % "\n".join(lines)


def picture(name, what):
    return "![%s](figures/%s.svg)" % (what, name)


def wrapped(text, width=120):
    """Paragraphs and lists in lines of one length; tables, code, headings and pictures as they are."""
    blocks = []
    for part in text.split("\n\n"):
        if part.startswith(("|", "```", "#", "!", "\n")):
            blocks.append(part)
            continue
        items = [" ".join(item.split()) for item in re.split(r"\n(?=- )", part)]
        fills = [
            textwrap.fill(i, width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  " * i.startswith("- "))
            for i in items
        ]
        blocks.append("\n".join(fills) + "\n" * part.endswith("\n"))
    return "\n\n".join(blocks)


def values(rows, name):
    return rows[name]["values"] if name in rows else {}


def provenance(rows):
    """When, where and how long: one sentence for each way in which rows were measured."""
    if not rows:
        return "Not measured yet."
    groups = {}
    for record in rows.values():
        m = record["measured"]
        key = (m["when"], m["machine"], m.get("how", ""))
        count, seconds, loads = groups.get(key, (0, 0.0, []))
        groups[key] = count + 1, seconds + (record["seconds"] or 0), loads + ([m["load"]] if "load" in m else [])
    parts = []
    for (when, where, how), (count, seconds, loads) in sorted(groups.items()):
        low, high = ("%.1f" % f(loads) for f in (min, max)) if loads else ("", "")
        where += ", load " + (low if low == high else "%s to %s" % (low, high)) if loads else ""
        time = ", %s s" % format(round(seconds), ",") if seconds >= 1 else ""
        parts.append("%d row%s %s on %s%s%s" % (count, "" if count == 1 else "s", when, where, time, "; " + how if how else ""))
    return "*Measured: %s.*" % ". ".join(parts)
