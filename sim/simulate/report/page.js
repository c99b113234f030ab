// Draws the run: the Gantt of lives, load and margins, and the trace of a rotation. Everything it shows is in #run.
"use strict";
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const start = Date.parse(run.start), end = Date.parse(run.end), day = 864e5;
  const $ = (id) => document.getElementById(id);
  const when = (text) => text ? Date.parse(text) : NaN;
  const stamp = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ") + "Z";
  const rough = (seconds) => {
    const sign = seconds < 0 ? "−" : "", s = Math.abs(seconds);
    const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
    return sign + (d ? `${d}d ${h}h` : h ? `${h}h ${m}m` : m ? `${m}m ${Math.floor(s % 60)}s` : `${Math.floor(s)}s`);
  };

  // localDate is the month and day on which a window opens, in its own zone.
  const localDate = (w) => (/\d{4}-(\d\d-\d\d)/.exec(w.label) || ["", w.start.slice(5, 10)])[1];

  // el makes an SVG or HTML element; what is text is set as text, never as markup.
  const svgNS = "http://www.w3.org/2000/svg";
  const el = (name, attributes = {}, ...children) => {
    const made = attributes.html ? document.createElement(name) : document.createElementNS(svgNS, name);
    for (const [key, value] of Object.entries(attributes)) if (key !== "html") made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const html = (name, attributes, ...children) => el(name, { html: true, ...attributes }, ...children);
  const canvas = (width, height, label) => el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label });

  // What belongs together, by claim.
  const attempts = new Map();
  for (const r of run.rotations || []) {
    const key = r.pool + "/" + r.claim;
    if (!attempts.has(key)) attempts.set(key, []);
    attempts.get(key).push(r);
  }
  const attemptsOf = (life) => attempts.get(life.pool + "/" + life.claim) || [];

  // lanes gives each life the line of the one it replaces, else the first line that is free.
  function lanes(lives) {
    const heir = new Map();
    for (const life of lives) for (const r of attemptsOf(life)) if (r.replacement && r.outcome === "completed" && life.fate === "rotated") heir.set(r.replacement, life.claim);
    const lane = new Map(), freeAt = [];
    for (const life of [...lives].sort((a, b) => when(a.born) - when(b.born))) {
      let i = lane.get(heir.get(life.claim));
      if (i === undefined) {
        i = freeAt.findIndex((t) => t <= when(life.born));
        if (i < 0) i = freeAt.length;
      }
      lane.set(life.claim, i);
      freeAt[i] = Math.max(freeAt[i] || 0, life.gone ? when(life.gone) : Infinity);
    }
    return { lane, count: freeAt.length };
  }

  function axis(svg, x, top, bottom) {
    const days = (end - start) / day;
    const step = [1, 2, 5, 7, 14, 30, 60, 90].find((s) => days / s <= 14) || 180;
    for (let t = Math.ceil(start / day) * day; t <= end; t += step * day) {
      svg.append(el("line", { x1: x(t), x2: x(t), y1: top, y2: bottom, class: "grid" }));
      if (x(t) + 48 > svg.getAttribute("width")) continue; // its name would be cut off
      const label = new Date(t).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
      svg.append(el("text", { x: x(t) + 3, y: top - 6, class: "axis" }, label));
    }
  }

  const words = { alive: "is alive at the end", rotated: "was rotated", fallback: "was drained without a replacement", expired: "expired", removed: "was removed", refused: "never got an instance" };

  function gantt(pool) {
    const lives = run.lives.filter((l) => l.pool === pool.name && l.ready && !(l.gone && when(l.gone) < start));
    const { lane, count } = lanes(lives);
    const height = 18, top = 26, left = 8, width = Math.max(700, $("gantt").clientWidth - 4, Math.min(6000, (end - start) / day * 14));
    const x = (t) => left + (Math.min(Math.max(t, start), end) - start) / (end - start) * (width - 2 * left);
    const svg = canvas(width, top + count * height + 10, "Lives of the nodes of " + pool.name);
    for (const w of pool.windows) {
      const shade = el("rect", { x: x(when(w.start)), width: Math.max(1.5, x(when(w.end)) - x(when(w.start))), y: top, height: count * height, class: "shade" });
      shade.append(el("title", {}, w.label));
      svg.append(shade, el("rect", { x: x(when(w.start)) - .5, width: Math.max(3, x(when(w.end)) - x(when(w.start))), y: top - 4, height: 4, class: "opening" }));
    }
    axis(svg, x, top, top + count * height);
    const bars = [];
    for (const life of lives) {
      const y = top + lane.get(life.claim) * height, from = x(when(life.born)), to = x(life.gone ? when(life.gone) : end);
      const margin = life.marginSeconds === undefined ? "" : `, ${rough(life.marginSeconds)} before its deadline`;
      const name = `${life.claim}, born ${stamp(when(life.born))}, ${words[life.fate]}${life.gone ? " " + stamp(when(life.gone)) : ""}${margin}`;
      const bar = el("g", { class: "bar " + life.fate, tabindex: "-1", role: "button", "aria-label": name });
      bar.append(el("title", {}, name), el("rect", { class: "body", x: from, y: y + 3, width: Math.max(2, to - from), height: height - 8, rx: 2 }));
      if (life.deadline && life.gone && when(life.deadline) <= end && life.fate !== "expired") {
        const at = x(when(life.deadline));
        bar.append(el("path", { class: "slack", d: `M${to} ${y + 1.5}H${at}` }), el("path", { class: "deadline-tick", d: `M${at} ${y - 1}v5` }));
      }
      if (life.fate === "expired") bar.append(el("path", { class: "cross", d: `M${to - 5} ${y + 3}l10 10m0 -10l-10 10` }));
      for (const r of attemptsOf(life)) if (r.outcome === "failed") bar.append(el("circle", { class: "failed-dot", cx: x(when(r.start)), cy: y + 8, r: 4 }));
      bar.addEventListener("click", () => open(life));
      bars.push({ bar, life, lane: lane.get(life.claim), from });
      svg.append(bar);
    }
    keyboard(bars);
    $("gantt").replaceChildren(svg);
  }

  // keyboard has one bar in the tab order, and arrow keys go from bar to bar.
  function keyboard(bars) {
    bars.sort((a, b) => a.lane - b.lane || a.from - b.from);
    if (bars.length) bars[0].bar.setAttribute("tabindex", "0");
    const go = (from, to) => {
      if (!to) return;
      from.bar.setAttribute("tabindex", "-1");
      to.bar.setAttribute("tabindex", "0");
      to.bar.focus();
      to.bar.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    bars.forEach((b, i) => b.bar.addEventListener("keydown", (e) => {
      const near = (lane) => bars.filter((o) => o.lane === lane).sort((p, q) => Math.abs(p.from - b.from) - Math.abs(q.from - b.from))[0];
      const move = { ArrowRight: () => bars[i + 1], ArrowLeft: () => bars[i - 1], ArrowDown: () => near(b.lane + 1), ArrowUp: () => near(b.lane - 1), Home: () => bars[0], End: () => bars[bars.length - 1] }[e.key];
      if (move) { e.preventDefault(); go(b, move()); }
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); open(b.life); }
    }));
  }

  // open shows a life and the rotations of it.
  function open(life) {
    const list = attemptsOf(life), facts = [["Node", life.node || "none"], ["Zone", life.zone || "none"], ["Born", stamp(when(life.born))]];
    if (life.due) facts.push(["Due from", stamp(when(life.due))]);
    if (life.deleted) facts.push(["Drain or end began", stamp(when(life.deleted))]);
    if (life.gone) facts.push(["Gone", stamp(when(life.gone))]);
    if (life.deadline) facts.push(["Deadline", stamp(when(life.deadline))]);
    if (life.marginSeconds !== undefined) facts.push(["Margin", rough(life.marginSeconds)]);
    show(`${life.claim} ${words[life.fate]}`, facts, list);
  }

  function show(title, facts, list) {
    $("trace-title").textContent = title;
    $("trace-facts").replaceChildren(...facts.flatMap(([k, v]) => [html("dt", {}, k), html("dd", {}, v)]));
    const lines = list.flatMap((r) => [`── rotation of ${r.claim}, attempt ${r.attempt}: ${r.outcome}${r.window ? ", in window " + r.window : ""}`, ...(r.trace || ["   (its trace was left out, to keep this page small)"]), ""]);
    $("trace-lines").textContent = lines.length ? lines.join("\n") : "No rotation of this node began.";
    $("trace").showModal();
  }

  function load(pool) {
    const windows = pool.windows.filter((w) => w.waiting || w.rotated || w.failed);
    if (!windows.length) return $("load-chart").replaceChildren(html("p", { style: "padding:.5rem 1rem" }, "No node was due in any window."));
    const most = Math.max(pool.capacity || 0, ...windows.map((w) => w.waiting)), step = Math.max(18, Math.min(64, ($("load-chart").clientWidth - 60) / windows.length));
    const width = Math.max(300, 50 + windows.length * step), height = 200, base = 150, top = 18, y = (n) => base - n / most * (base - top);
    const svg = canvas(width, height, "Nodes due and rotated, by window");
    for (const n of [...new Set([0, Math.ceil(most / 2), most])]) {
      svg.append(el("line", { x1: 36, x2: width, y1: y(n), y2: y(n), class: "grid" }), el("text", { x: 30, y: y(n) + 4, "text-anchor": "end", class: "axis" }, String(n)));
    }
    windows.forEach((w, i) => {
      const at = 42 + i * step, g = el("g", {}, el("title", {}, `${w.label}: ${w.waiting} due, ${w.rotated} rotated, ${w.failed} rolled back or overtaken`));
      g.append(el("rect", { class: "due", x: at, width: step * .72, y: y(w.waiting), height: base - y(w.waiting) }));
      g.append(el("rect", { class: "done", x: at + step * .12, width: step * .48, y: y(w.rotated), height: base - y(w.rotated) }));
      svg.append(g);
      if (step > 40 || i % Math.ceil(40 / step) === 0) svg.append(el("text", { x: at, y: base + 16, class: "axis" }, localDate(w)));
    });
    if (pool.capacity) svg.append(el("line", { class: "capacity", x1: 36, x2: width, y1: y(pool.capacity), y2: y(pool.capacity) }), el("line", { class: "capacity", x1: 180, x2: 206, y1: height - 13, y2: height - 13 }), el("text", { x: 212, y: height - 9 }, `room for ${pool.capacity}`));
    svg.append(el("rect", { class: "due", x: 42, y: height - 18, width: 14, height: 10 }), el("text", { x: 60, y: height - 9 }, "due"), el("rect", { class: "done", x: 100, y: height - 18, width: 14, height: 10 }), el("text", { x: 118, y: height - 9 }, "rotated"));
    $("load-chart").replaceChildren(svg);
  }

  function margins(pool) {
    const all = run.lives.filter((l) => l.pool === pool.name && l.marginSeconds !== undefined).map((l) => l.marginSeconds);
    const lost = run.lives.filter((l) => l.pool === pool.name && l.fate === "expired").length;
    if (!all.length && !lost) return $("margin-chart").replaceChildren(html("p", { style: "padding:.5rem 1rem" }, "No node with a deadline ended."));
    const most = Math.max(0, ...all), unit = [3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400].find((u) => most / u <= 24) || 30 * 86400;
    const bins = Array.from({ length: Math.max(1, Math.floor(most / unit) + 1) }, () => 0);
    for (const m of all) bins[Math.max(0, Math.floor(m / unit))]++;
    const high = Math.max(lost, ...bins), step = Math.max(22, Math.min(54, ($("margin-chart").clientWidth - 120) / (bins.length + 1))), base = 140, y = (n) => base - n / high * (base - 22);
    const svg = canvas(90 + (bins.length + 1) * step, 176, "Histogram of margins");
    const column = (i, n, name, label, kind) => {
      const x = 20 + i * step + (i ? 30 : 0);
      svg.append(el("g", {}, el("title", {}, `${n} nodes: ${name}`), el("rect", { class: kind, x, y: y(n), width: step * .84, height: base - y(n) })));
      if (n) svg.append(el("text", { x: x + step * .42, y: y(n) - 4, "text-anchor": "middle" }, String(n)));
      if (label) svg.append(el("text", { x, y: base + 16, class: "axis" }, label));
    };
    if (lost) column(0, lost, "expired", "expired", "lost");
    bins.forEach((n, i) => column(i + 1, n, `${rough(i * unit)} to ${rough((i + 1) * unit)}`, step > 34 || i % 2 === 0 ? (unit < 86400 ? `${i * unit / 3600}h` : `${i * unit / 86400}d`) : "", "done"));
    svg.append(el("line", { x1: 16, x2: 90 + (bins.length + 1) * step, y1: base, y2: base, class: "grid" }));
    $("margin-chart").replaceChildren(svg);
  }

  let shown = 0;
  function more(pool) {
    const list = (run.rotations || []).filter((r) => r.pool === pool.name), next = list.slice(shown, shown + 100);
    for (const r of next) {
      const button = html("button", { type: "button" }, r.claim + (r.attempt > 1 ? ` (attempt ${r.attempt})` : ""));
      button.addEventListener("click", () => show(`Rotation of ${r.claim}`, [["Began", stamp(when(r.start))], ["Ended", r.end ? stamp(when(r.end)) : "not yet"], ["Outcome", r.outcome], ["Age", rough(r.ageSeconds)]], [r]));
      $("rows").append(html("tr", {}, html("td", {}, stamp(when(r.start))), html("td", {}, button), html("td", {}, r.fallback ? "none (fallback)" : r.replacement || "none"), html("td", {}, r.outcome), html("td", {}, r.marginSeconds === undefined ? "" : rough(r.marginSeconds))));
    }
    shown += next.length;
    $("more").hidden = shown >= list.length;
  }

  function choose() {
    const pool = run.pools[Number($("pool").value) || 0];
    gantt(pool);
    load(pool);
    margins(pool);
    shown = 0;
    $("rows").replaceChildren();
    more(pool);
  }

  run.pools.forEach((p, i) => $("pool").append(html("option", { value: i }, p.policy ? `${p.name} (policy ${p.policy})` : `${p.name} (not governed)`)));
  $("pool").addEventListener("change", choose);
  $("more").addEventListener("click", () => more(run.pools[Number($("pool").value) || 0]));
  addEventListener("resize", choose);
  choose();
})();
