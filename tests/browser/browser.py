"""Headless Chromium, driven by its DevTools protocol over a pipe."""
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

PATIENCE = 30  # seconds

# What is wrong with how a page looks, as a list of sentences.
FAULTS = r"""(() => {
  const out = [], seen = element => element.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const name = e => `<${e.tagName.toLowerCase()} class="${e.getAttribute("class") || ""}"> "${e.textContent.trim().slice(0, 40)}"`;
  if (document.documentElement.scrollWidth > innerWidth)
    out.push(`the page of ${document.documentElement.scrollWidth} is wider than ${innerWidth}`);

  // Numbers and names of axes that lie over each other.
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  for (const picture of document.querySelectorAll("svg:not(.sites)")) {
    const texts = [...picture.querySelectorAll("text")].filter(seen), places = texts.map(t => t.getBoundingClientRect());
    const frame = picture.getBoundingClientRect();
    texts.forEach((text, i) => {
      for (let k = 0; k < i; ++k)
        if (meet(places[i], places[k])) out.push(`${name(text)} lies over ${name(texts[k])}`);
      if (places[i].left < frame.left - 1 || places[i].right > frame.right + 1) out.push(`${name(text)} leaves its picture`);
    });
  }

  // Text that can hardly be read: the grounds of all elements around it, one over the other.
  const numbers = colour => (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const over = ([r, g, b, a = 1], ground) => ground.map((c, i) => [r, g, b][i] * a + c * (1 - a));
  const ground = e => e ? over(numbers(getComputedStyle(e).backgroundColor), ground(e.parentElement)) : [255, 255, 255];
  const light = c => c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !seen(e) || e.closest(".glyph,.old")) continue;
    const style = getComputedStyle(e), behind = ground(e);
    const ink = over(numbers(e.closest("svg") ? style.fill : style.color), behind);
    const [dark, bright] = [light(ink), light(behind)].sort((a, b) => a - b);
    if ((bright + 0.05) / (dark + 0.05) < 4.5) out.push(`${name(e)} has a contrast of ${((bright + 0.05) / (dark + 0.05)).toFixed(2)}`);
  }

  // Tables: heads in every one, numbers to the right.
  for (const table of document.querySelectorAll("table"))
    if (!table.querySelector("th[scope]")) out.push(`${name(table)} has no heads`);
  for (const cell of document.querySelectorAll("table:not(.plain) td"))
    if (/^[+−-]?[0-9.]+(e[+-]?[0-9]+)?%?$/.test(cell.textContent.trim()) && !cell.matches(".text") && getComputedStyle(cell).textAlign !== "right")
      out.push(`${name(cell)} is a number to the left`);
  return [...new Set(out)];
})()"""
NO_BROWSER = 77  # the exit code


class Browser:
    """A page of a browser that is told what to do, one command at a time."""

    def __init__(self, program, profile):
        ours, theirs = os.pipe(), os.pipe()
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--hide-scrollbars", f"--user-data-dir={profile}", "--remote-debugging-pipe",
                   "about:blank"]
        # The browser reads commands from descriptor 3 and answers on 4.
        script = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", script, str(ours[0]), str(theirs[1]), *command],
                                        pass_fds=(ours[0], theirs[1]), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.back = os.fdopen(ours[1], "wb", buffering=0), os.fdopen(theirs[0], "rb")
        self.numbers, self.session, self.events, self.rest = itertools.count(1), None, [], b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.rest:
            piece = self.back.read1(65536)
            if not piece:
                sys.exit("the browser has gone")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression, what):
        end = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > end:
                sys.exit(f"not seen: {what}; the page says: {self.value('document.body.innerText')[:600]!r}")
            time.sleep(0.05)

    def type(self, text):
        """By keyboard: the first box for text has the focus, and all that is in it is replaced."""
        self.value("{ const box = document.querySelector('textarea'); box.focus(); box.select(); }")
        self.call("Input.insertText", text=text)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except SystemExit:
            pass
        self.process.wait(10)

    def faults(self, what):
        """Ends the program where the page, as it is now, does not look as it should."""
        found = self.value(FAULTS)
        check(not found, f"{what}: {'; '.join(found[:5])}")

    def resize(self, width, height=900, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


@contextmanager
def opened():
    """A browser with a profile of its own; where there is none the program ends."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("there is no chromium")
        sys.exit(NO_BROWSER)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            yield browser
        finally:
            browser.close()


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")
