"use strict";
// What is typed goes to /explain a moment later; the answer becomes elements, never HTML.
(() => {
  const boxes = [...document.querySelectorAll("[data-column]")];
  const status = document.getElementById("status"), reasons = document.getElementById("reasons");
  const wait = 180; // milliseconds without a key

  // ---- Elements ----

  // Characters that are not seen but change what is: shown as pictures and numbers.
  const visible = text => String(text).replace(/[\u0000-\u0008\u000b-\u001f]/g,
    c => String.fromCharCode(0x2400 + c.charCodeAt(0))).replace(/\u007f/g, "\u2421").replace(
    /[\u0080-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g,
    c => `[U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.map(c => c instanceof Node ? c : visible(c)));
    return made;
  }

  const number = value => value === null || value === undefined ? "–"
    : Math.abs(value) >= 1e3 && Math.abs(value) < 1e6 ? value.toFixed(0) : String(+value.toPrecision(4));
  const signed = value => (value > 0 ? "+" : "") + number(value);
  const percent = share => (100 * share).toFixed(share < 0.1 || share > 0.9 ? 1 : 0) + "%";

  // The pieces of report/html.c, with the same classes.
  function table(heads, rows, kind = "whole") {
    const head = element("tr", {}, ...heads.map(text => text.endsWith("#")
      ? element("th", {scope: "col", class: "n"}, text.slice(0, -1)) : element("th", {scope: "col"}, text)));
    const body = rows.map(cells => element("tr", {}, ...cells));
    return element("div", {class: "scroll tall", tabindex: "0"}, element("table", {class: kind},
      element("thead", {}, head), element("tbody", {}, ...body)));
  }
  const numberCell = text => element("td", {class: "n"}, text);
  // Text over a bar that is as long as its weight; styles are set by script, which the policy allows.
  function meterCell(text, share, up) {
    const bar = element("span", {class: "meter " + (up ? "up" : "down")}, text);
    bar.style.setProperty("--m", (100 * share).toFixed(1) + "%");
    return element("td", {class: "text w"}, bar);
  }

  // ---- The answer ----

  function showPrediction(answer) {
    const p = answer.prediction, name = answer.target, spans = [];
    if ("label" in p) {
      status.replaceChildren(element("b", {}, p.label || "no label"));
      const best = Object.entries(p).filter(([key]) => /^p\[/.test(key)).map(([, value]) => value);
      spans.push(best.length ? `${name}, probability ${percent(Math.max(...best))}` : name);
    } else if ("mean" in p) {
      status.replaceChildren(element("b", {}, number(p.mean)));
      spans.push("lo" in p ? `${name}, from ${number(p.lo)} to ${number(p.hi)} (95%)` : name);
      if ("median" in p) spans.push(`median ${number(p.median)}`);
    } else {
      const targets = Object.keys(p).filter(key => key.endsWith(".mean")).map(key => key.slice(0, -5));
      status.replaceChildren();
      for (const t of targets)
        spans.push(`${t} ${number(p[t + ".mean"])}, from ${number(p[t + ".lo"])} to ${number(p[t + ".hi"])} (95%)`);
    }
    status.append(...spans.map(text => element("span", {}, text)));
  }

  // The prediction and its interval, against the least and the largest target of training.
  function interval(name, mean, lo, hi, range) {
    const known = value => value !== null && value !== undefined;
    if (!range || !known(mean)) return [];
    const held = known(lo) && known(hi), [least, most] = range;
    const from = Math.min(least, held ? lo : mean), to = Math.max(most, held ? hi : mean);
    const place = value => to > from ? 100 * (value - from) / (to - from) : 50;
    const piece = (kind, first, last) => {
      const made = element("i", {class: kind});
      made.style.left = place(first).toFixed(2) + "%";
      if (last !== undefined) made.style.width = (place(last) - place(first)).toFixed(2) + "%";
      return made;
    };
    const trained = `training targets, from ${number(least)} to ${number(most)}`;
    const key = (kind, text) => element("span", {}, element("i", {class: kind}), text);
    return [element("div", {class: "interval", role: "img",
      "aria-label": `The prediction of ${name} ${number(mean)}${held ? " and its 95% interval" : ""} among ${trained}`},
      piece("range", least, most), ...held ? [piece("held", lo, hi)] : [], piece("at", mean)),
    element("p", {class: "key"}, key("kd", "prediction"), ...held ? [key("", "95% interval")] : [], key("kr", trained))];
  }

  function intervals(answer) {
    const p = answer.prediction, all = [answer, ...answer.more];
    if ("mean" in p) return interval(answer.target, p.mean, p.lo, p.hi, answer.range);
    return all.filter(a => a.target + ".mean" in p).flatMap(a => [
      ...all.length > 1 ? [element("p", {class: "note"}, a.target)] : [],
      ...interval(a.target, p[a.target + ".mean"], p[a.target + ".lo"], p[a.target + ".hi"], a.range)]);
  }

  function classes(prediction) {
    const each = Object.entries(prediction).filter(([key]) => /^p\[/.test(key))
      .map(([key, value]) => [key.slice(2, -1), value]).sort((a, b) => b[1] - a[1]);
    if (!each.length) return [];
    return [table(["label" in prediction ? "class" : "grade", "probability#"], each.slice(0, 12).map(([name, p]) =>
      [meterCell(name, p, true), numberCell(percent(p))]), "whole shares")];
  }

  // Places are bytes of the cell: each has the weight of the smallest token or node that it is in.
  function marked(cell, tokens) {
    const bytes = new TextEncoder().encode(cell), decoder = new TextDecoder();
    const of = new Array(bytes.length).fill(null);
    for (const token of tokens)
      for (let i = token.first; i < token.first + token.length && i < bytes.length; ++i)
        if (!of[i] || token.length < of[i].length) of[i] = token;
    const most = Math.max(...tokens.map(t => Math.abs(t.weight)), 0);
    const out = element("p", {class: "text marked", dir: "auto"});
    for (let i = 0, end; i < bytes.length; i = end) {
      for (end = i + 1; end < bytes.length && of[end] === of[i];) ++end;
      const text = decoder.decode(bytes.slice(i, end)), weight = of[i] ? of[i].weight : 0;
      const share = most > 0 ? Math.abs(weight) / most : 0;
      if (!of[i]) {
        out.append(visible(text));
        continue;
      }
      const mark = element("mark", {"class": share < 0.05 ? "" : weight > 0 ? "up" : "down",
        title: signed(weight) + (of[i].seen ? "" : ", not in training")}, text);
      mark.style.setProperty("--w", share.toFixed(2));
      out.append(mark);
    }
    return out;
  }

  function parts(answer, row) {
    const out = [], columns = [...new Set(answer.tokens.map(t => t.column))], bare = [];
    for (const column of columns) {
      const tokens = answer.tokens.filter(t => t.column === column);
      const placed = tokens.filter(t => "first" in t);
      bare.push(...tokens.filter(t => !("first" in t)));
      if (!placed.length) continue;
      if (columns.length > 1) out.push(element("h3", {}, column));
      out.push(marked(String(row[column]), placed));
    }
    const most = Math.max(...bare.map(t => Math.abs(t.weight)), 0);
    if (bare.length && out.length) out.push(element("h3", {}, "Numbers"));
    if (bare.length) out.push(table(["column", "value#", "adds#"], bare.map(t => [meterCell(t.token,
      most > 0 ? Math.abs(t.weight) / most : 0, t.weight > 0), numberCell(Object.hasOwn(row, t.token) ? String(row[t.token]) : ""),
    numberCell(signed(t.weight))])));
    return out;
  }

  function patterns(answer) {
    if (!answer.patterns.length) return [];
    const most = Math.max(...answer.patterns.map(p => Math.abs(p.weight)), 0);
    return [element("h3", {}, "Patterns"), table(["pattern", "adds#", "rows#"],
      answer.patterns.map(p => [meterCell(p.pattern.replace(/^ +| +$/g, blanks => "␣".repeat(blanks.length)),
        most > 0 ? Math.abs(p.weight) / most : 0, p.weight > 0),
        numberCell(signed(p.weight)), numberCell(String(p.rows))]))];
  }

  function rows(answer) {
    if (!answer.rows.length) return [];
    const most = Math.max(...answer.rows.map(r => Math.abs(r.weight)), 0);
    return [element("h3", {}, "Training rows"), table(["text", "adds#", "similarity#", "target#", "row#"],
      answer.rows.map(r => [meterCell(r.text || "", most > 0 ? Math.abs(r.weight) / most : 0, r.weight > 0),
        numberCell(signed(r.weight)), numberCell(r.similarity === null ? "–" : r.similarity.toFixed(2)),
        numberCell(r.label !== undefined ? r.label : number(r.y)), numberCell(String(r.row))]))];
  }

  function doubt(answer) {
    const fresh = [...new Set(answer.tokens.filter(t => !t.seen && "first" in t).map(t => t.token))];
    const said = [];
    if (answer.noise !== null) said.push(`noise of the target ${number(answer.noise)}`);
    if (answer.distance !== null)
      said.push(`distance from the training rows ${number(answer.distance)} of at most ${number(answer.prior)}`);
    if (fresh.length) said.push(`not in training: ${fresh.slice(0, 12).join(", ")}${fresh.length > 12 ? ", …" : ""}`);
    return said.length ? [element("p", {class: "note"}, `Doubt: ${said.join("; ")}.`)] : [];
  }

  function section(answer, row, alone) {
    const name = answer.class === undefined ? answer.target
      : answer.class + (answer.against === undefined ? "" : ` against ${answer.against}`);
    const rounding = answer.exact || Math.abs(answer.missed) < 1e-4 * Math.abs(answer.mean - answer.baseline);
    const head = alone && answer.class === undefined ? "Why" : `Why: ${name}`;
    return element("section", {}, element("h2", {}, head), element("p", {class: "note"},
      `${signed(answer.mean - answer.baseline)} by this row, from a baseline of ${number(answer.baseline)}. `,
      answer.unit ? `These and all weights are of the latent function, ${number(answer.mean)} here, not of the target. ` : "",
      element("mark", {class: "up", style: "--w:1"}, "Blue"), " raises, ",
      element("mark", {class: "down", style: "--w:1"}, "dotted orange"), " lowers",
      rounding ? "." : ` (${signed(answer.missed)} is not told apart).`),
      ...parts(answer, row), ...patterns(answer), ...rows(answer), ...doubt(answer));
  }

  function show(answer, row) {
    status.className = "predicted";
    showPrediction(answer);
    const all = [answer, ...answer.more];
    reasons.replaceChildren(...intervals(answer), ...classes(answer.prediction), ...all.map(a => section(a, row, all.length === 1)));
  }

  function complain(text) {
    status.className = "predicted wrong";
    status.replaceChildren(visible(text));
    reasons.replaceChildren();
  }

  // ---- Mutations: the picture of the report, with its classes ----

  const mutations = document.getElementById("mutations");
  const perRow = 60, cell = 14, left = 30;

  function drawn(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.map(c => c instanceof Node ? c : visible(c)));
    return made;
  }

  // The number that is shown: the first target's, of classes the last of two, else that of the sequence itself.
  function shownKey(wild) {
    const keys = Object.keys(wild);
    const of = keys.find(key => key === "mean" || key.endsWith(".mean"));
    if (of) return of;
    const each = keys.filter(key => /^(p\[|score)/.test(key));
    const own = `p[${wild.label}]`;
    return each.length > 2 && each.includes(own) ? own : each[each.length - 1];
  }

  function heatMap(answer, row) {
    const [wild, ...rows] = answer.rows, key = shownKey(wild), letters = [...answer.letters];
    if (!key) return [element("p", {class: "note"}, "The model tells labels without a number for them.")];
    const spread = key.replace(/mean$/, "sd"), most = Math.max(...rows.map(r => Math.abs(r[key] - wild[key])), 0);
    const tall = 16 + cell * letters.length + 28, sites = answer.sequence.length;
    const wide = left + cell * Math.min(sites, perRow) + 4, high = tall * Math.ceil(sites / perRow);
    const of = key === "mean" ? answer.target : key.replace(/\.mean$/, "");
    const said = `What each mutation ${Object.values(row).includes(answer.sequence) ? "" : "of the wild type "}adds to ${of}`;
    const picture = drawn("svg", {class: "sites", viewBox: `0 0 ${wide} ${high}`, role: "img",
      "aria-label": said});
    picture.style.width = `${wide}px`;
    const x = site => left + cell * (site % perRow), top = site => tall * Math.floor(site / perRow);
    const text = (kind, at, y, letters) => picture.append(drawn("text", {class: kind, x: at, y}, letters));
    for (let site = 0; site < sites; ++site) {
      const own = answer.sequence[site], number = answer.first + site, y = top(site);
      if (site % perRow === 0) {
        letters.forEach((letter, i) => text("mid name", left - 12, y + 16 + cell * i + 10.5, letter));
        picture.append(drawn("rect", {class: "ground", x: left - 1, y: y + 15, height: cell * letters.length + 1,
          width: cell * Math.min(perRow, sites - site) + 1}));
      }
      if (number % 10 === 0) text("mid", x(site) + 7, y + 11, String(number));
      text("mid name", x(site) + 7, y + tall - 16, own);
      letters.forEach((letter, i) => {
        if (letter.toUpperCase() === own.toUpperCase())
          picture.append(drawn("circle", {class: "own", cx: x(site) + 6.5, cy: y + 16 + cell * i + 6.5, r: 2.5}));
      });
    }
    for (const one of rows) {
      const site = one.site - answer.first, adds = one[key] - wild[key];
      const doubt = spread !== key && one[spread] !== undefined ? ` ± ${number(one[spread])}` : "";
      picture.append(drawn("rect", {class: adds < 0 ? "down" : "up", x: x(site), width: 13, height: 13,
        y: top(site) + 16 + cell * letters.indexOf(one.letter), "fill-opacity": most > 0 ? (Math.abs(adds) / most).toFixed(3) : 0},
      drawn("title", {}, `${one.mutation}: ${number(one[key])}${doubt}, ${signed(adds)}`)));
    }
    return [element("figure", {}, element("figcaption", {}, said),
      element("div", {class: "scroll", tabindex: "0"}, picture),
      element("p", {class: "key"}, element("span", {}, `−${number(most)}`, element("i", {class: "ramp"}), `+${number(most)}`),
        element("span", {}, `● as it is: ${number(wild[key])}`)))];
  }

  async function mutate() {
    const button = mutations.querySelector("button"), place = mutations.querySelector("div"), row = typed();
    button.disabled = true;
    try {
      const response = await fetch("/mutate", {method: "POST", headers: {"Content-Type": "application/json"},
        body: JSON.stringify(row)});
      const answer = await response.json();
      if (JSON.stringify(row) === JSON.stringify(typed()))
        place.replaceChildren(...response.ok ? heatMap(answer, row) : [element("p", {class: "note"}, answer.error)]);
    } catch (failure) {
      place.replaceChildren(element("p", {class: "note"}, "The server does not answer."));
    }
    button.disabled = false;
  }
  if (mutations) mutations.querySelector("button").addEventListener("click", mutate);

  // ---- Asking ----

  let asked = null, timer = 0;

  function typed() {
    const row = {};
    for (const box of boxes) {
      const isNumber = box.type === "number";
      if (isNumber && box.value === "") return null;
      row[box.dataset.column] = isNumber ? Number(box.value) : box.value;
    }
    return row;
  }

  async function ask() {
    const row = typed();
    if (asked) asked.abort();
    if (!row) return complain("A number is missing.");
    const mine = asked = new AbortController();
    reasons.className = "old";
    try {
      const response = await fetch("/explain", {method: "POST", signal: mine.signal,
        headers: {"Content-Type": "application/json"}, body: JSON.stringify(row)});
      const answer = await response.json();
      if (mine !== asked) return;
      if (response.ok) show(answer, row);
      else complain(answer.error);
    } catch (failure) {
      if (mine === asked) complain("The server does not answer.");
    }
    if (mine === asked) reasons.className = "";
  }

  for (const box of boxes) box.addEventListener("input", () => {
    if (mutations) mutations.querySelector("div").replaceChildren();
    clearTimeout(timer);
    timer = setTimeout(ask, wait);
  });
  ask();
})();
