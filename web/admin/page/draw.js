// draw.js draws the network of a site as SVG, in the places that layered.js or rail.js gives.
// Everything that changes while it runs is changed in place: a drawing is made anew only when the
// network is another one.

const SVG = "http://www.w3.org/2000/svg";
const readable = 0.8; // a drawing is not made smaller than this: it is scrolled then

const el = (name, attributes = {}, ...children) => {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

// count and time write a number in few characters.
export function count(n) {
  if (n >= 1e9) return `${(n / 1e9).toPrecision(3)}G`;
  if (n >= 1e6) return `${(n / 1e6).toPrecision(3)}M`;
  if (n >= 9999.5) return `${Number((n / 1e3).toPrecision(3))}k`;
  if (n >= 9.95 || Number.isInteger(n)) return String(Math.round(n));
  return n.toFixed(1);
}
export function time(ns) {
  if (ns >= 1e9) return `${(ns / 1e9).toPrecision(3)} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns >= 1e3) return `${(ns / 1e3).toPrecision(3)} µs`;
  return `${Math.round(ns)} ns`;
}

// draw makes the drawing of a site: the SVG, and of each stage and link what changes. Places has
// width and height, node(n), path(link), and label(link), which is null where no labels stand.
export function draw(site, places, choose) {
  const { layout } = site, { width, height } = places;
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `the network of ${site.name}` });
  svg.style.minWidth = `${width * readable}px`;
  const arrow = el("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, el("path", { d: "M0,0L8,4L0,8z" }));
  svg.append(el("defs", {}, arrow));
  const links = layout.links.map((link) => drawLink(places.path(link), places.label(link)));
  svg.append(...links.map((l) => l.line), ...links.map((l) => l.text).filter(Boolean));
  const stages = site.stages.map((s, i) => {
    const at = places.node(i + 1);
    return at.end ? null : drawStage(s, at, () => choose(i));
  });
  for (const [n, name] of [[0, "in"], [layout.exit, "out"]]) if (n >= 0) svg.append(drawEnd(name, places.node(n)));
  svg.append(...stages.filter(Boolean).map((s) => s.group));
  return { svg, links, stages };
}

function drawEnd(name, { x, y, beside }) {
  const side = name === "out" ? -22 : 22; // links enter the exit from the right
  const text = el("text", beside ? { x: x + side, y: y + 4, class: "end" } : { x, y: y - 14, class: "end" }, name);
  return el("g", { "aria-hidden": "true" }, el("circle", { cx: x, cy: y, r: 6 }), text);
}

function drawLink(path, label) {
  const line = el("path", { d: path, class: "link", "marker-end": "url(#arrow)", "aria-hidden": "true" });
  const text = label && el("text", { ...label, class: "rate", "aria-hidden": "true" });
  return { line, text, label };
}

function drawStage(stage, { x, y, w, h }, choose) {
  const middle = x + w / 2;
  const width = stage.width > 1 ? ` ×${stage.width}` : "";
  const name = el("text", { x: middle, y: y + 22, class: "name" }, stage.name + width);
  const figures = el("text", { x: middle, y: y + 40, class: "figures" });
  const mark = el("text", { x: x + w - 8, y: y - 4, class: "mark" }, "slowest");
  const busy = el("rect", { x: x + 8, y: y + h - 7, width: 0, height: 3, rx: 1.5, class: "busy" });
  const group = el("g", { class: "stage", tabindex: 0, role: "button", "aria-pressed": "false", "data-stage": stage.name },
    el("title", {}, stage.name + width), el("rect", { x, y, width: w, height: h, rx: 8, class: "box" }), name, figures, busy);
  group.addEventListener("click", choose);
  group.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    choose();
  });
  return { group, figures, busy, mark, name, parts: [stage.name, width], w };
}

// fit shortens the names that are wider than their stage. The drawing must be in the page.
export function fit(drawing) {
  for (const s of drawing.stages.filter(Boolean)) {
    const [name, width] = s.parts;
    for (let n = name.length - 1; n > 0 && s.name.getComputedTextLength() > s.w - 14; n--) s.name.textContent = `${name.slice(0, n)}…${width}`;
  }
}

// queued says what waits on edges, for how long, and what they have lost.
function queued(edges, rate) {
  const sum = (of) => edges.reduce((n, e) => n + e[of], 0);
  const depth = sum("depth"), lost = sum("dropped") + sum("refused");
  const said = [];
  if (depth > 0) said.push(`${count(depth)} waiting`);
  if (depth > 0 && rate > 0) said.push(`≈ ${time(delay(depth, rate))}`);
  if (lost > 0) said.push(`${count(lost)} lost`);
  return { said, lost };
}

// delay is how long exchanges are on an edge, by Little's law, in nanoseconds.
export const delay = (depth, rate) => (depth / rate) * 1e9;

// stacked writes lines one below another, the first above the link.
function stacked(text, { x, y }, lines) {
  text.replaceChildren(...lines.map((line, i) => el("tspan", { x, y: y - 5 + (i && 4) + 13 * i }, line)));
}

// slowest returns the stage with the longest service time, or null if fewer than two have one.
function slowest(stages) {
  const timed = stages.filter((s) => s.service_ns > 0);
  return timed.length < 2 ? null : timed.reduce((a, b) => (b.service_ns > a.service_ns ? b : a));
}

// labelOf returns which exchanges take a link: the patterns of its routes.
function labelOf(edges) {
  const text = edges.map((e) => e.label).filter(Boolean).join(", ");
  return text.length > 16 ? [`${text.slice(0, 15)}…`] : text ? [text] : [];
}

// show writes into a drawing what is known now.
export function show(drawing, site, rates, chosen) {
  const slow = slowest(site.stages);
  site.stages.forEach((s, i) => {
    const stage = drawing.stages[i];
    if (stage) showStage(stage, s, site, { rate: rates?.stages[i] ?? 0, busy: rates?.busy[i] ?? 0, chosen: chosen === i, slow: s === slow, labelled: !!drawing.links[0]?.text });
  });
  site.layout.links.forEach((link, i) => {
    const { line, text, label } = drawing.links[i];
    const rate = rates ? link.edges.reduce((n, e) => n + rates.edges[e], 0) : 0;
    line.classList.toggle("idle", rate === 0);
    line.style.strokeWidth = 1.25 + Math.min(4, Math.log10(1 + rate));
    if (!text) return;
    const edges = link.edges.map((e) => site.edges[e]);
    const { said, lost } = queued(edges, rate);
    stacked(text, label, [...labelOf(edges), ...(rate > 0 ? [`${count(rate)}/s`] : []), ...said]);
    text.classList.toggle("bad", lost > 0);
  });
}

function showStage({ group, figures, busy, mark, w }, s, site, { rate, busy: share, chosen, slow, labelled }) {
  // Where links have no labels, what waits before a stage is written on it; there is no room for
  // how long.
  const { said, lost } = queued(site.edges.filter((e) => e.to === s.name), labelled ? rate : 0);
  const each = s.service_ns ? [time(s.service_ns)] : [];
  figures.textContent = [`${count(rate)}/s`, ...each, ...(labelled ? [] : said)].join(" · ");
  busy.setAttribute("width", Math.min(1, share) * (w - 16));
  group.classList.toggle("bad", s.failed > 0 || lost > 0);
  group.classList.toggle("slowest", slow);
  if (slow) group.append(mark);
  else mark.remove();
  group.setAttribute("aria-pressed", String(chosen));
  const failed = s.failed ? [`${s.failed} failed`] : [];
  group.setAttribute("aria-label", `${s.name}: ${[`${count(rate)} a second`, ...each.map((t) => `${t} each`), ...(slow ? ["the slowest"] : []), ...said, ...failed].join(", ")}`);
}
