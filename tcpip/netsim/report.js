"use strict";
// Draws the sequence diagram. All text of the test is set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const [arrows, marks] = [data.arrows || [], data.marks || []];
const hosts = data.hosts || [];
const box = document.getElementById("box"), detail = document.getElementById("detail");
const hidden = new Set(); // numbers of hosts that are not shown
let groups = []; // of the packets that are shown, in the order of their sending: {parts, y, arrow}
let markRows = []; // y of the marks that are shown
let chosen = -1; // index into groups

function el(parent, name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
}

const narrow = () => box.clientWidth < 600;
const seconds = ns => (ns / 1e9).toFixed(narrow() ? 4 : 6);

function span(ns) {
  if (ns < 1e9) return Math.round(ns / 1e6) + " ms";
  if (ns < 120e9) return (ns / 1e9).toPrecision(3) + " s";
  return Math.round(ns / 60e9) + " min";
}

// isShown reports whether a packet passes the filters.
function isShown(a) {
  const connection = document.getElementById("connection").value;
  return !hidden.has(a.from) && !hidden.has(a.to) &&
    (connection === "" || a.connection === Number(connection)) &&
    !(document.getElementById("acks").checked && a.kind === "ack" && (!a.lost || a.open));
}

// rowsOf returns the rows of the diagram by time. At the same time come faults, deliveries, notes,
// and what is sent.
function rowsOf(shown) {
  const rows = [];
  for (const a of shown) {
    rows.push({at: a.sent, rank: 3, arrow: a, height: 19});
    if (!a.lost && (a.at !== a.sent || a.to !== a.from)) rows.push({at: a.at, rank: 1, end: a, height: 7});
  }
  for (const m of marks) rows.push({at: m.at, rank: m.kind === "fault" ? 0 : 2, mark: m, height: 23});
  rows.sort((a, b) => a.at - b.at || a.rank - b.rank);
  return rows;
}

const gapFrom = 100e6; // nanoseconds without a row that are shown as a gap

// place gives each row its y, and returns the gaps and the height.
function place(rows) {
  const gaps = [];
  let y = 6, before;
  for (const r of rows) {
    const quiet = before === undefined ? 0 : r.at - before;
    if (quiet >= gapFrom) {
      gaps.push({y: y + 19, text: "⋮ " + span(quiet)});
      y += 28;
    }
    r.y = y + r.height - 6;
    y += r.height;
    before = r.at;
  }
  return {gaps, height: y + 30};
}

// columns returns the x of each shown host, and the width.
function columns(shown) {
  const used = hosts.map((_, i) => i).filter(i => !hidden.has(i) &&
    shown.some(a => a.from === i || a.to === i) || marks.some(m => m.host === i && !hidden.has(i)));
  const left = narrow() ? 76 : 110, right = narrow() ? 26 : 60;
  const available = box.clientWidth - left - right;
  const step = Math.max(used.length > 2 ? 190 : 150, Math.min(860, available / Math.max(1, used.length - 1)));
  const x = new Map(used.map((h, i) => [h, left + i * step]));
  return {x, width: Math.max(box.clientWidth, left + step * Math.max(1, used.length - 1) + right), step};
}

function drawHeads(c) {
  const svg = el(box, "svg", {id: "heads", width: c.width, height: 30, "aria-hidden": "true"});
  el(svg, "text", {x: 4, y: 20, class: "time"}, "seconds");
  for (const [h, x] of c.x) {
    const room = Math.floor(Math.min(c.step, 2 * x, 2 * (c.width - x)) / 8);
    el(svg, "text", {x, y: 20, class: "head", "text-anchor": "middle"}, cut(hosts[h], room));
  }
}

const cut = (s, n) => s.length <= n ? s : s.slice(0, Math.max(1, n - 1)) + "…";

// drawLives draws the lifelines: a host that is down or paused has a broken one.
function drawLives(svg, c, rows, height) {
  for (const [h, x] of c.x) {
    let state = "running", from = 0;
    const until = y => {
      if (y > from) el(svg, "line", {class: "life " + state, x1: x, x2: x, y1: from, y2: y});
      from = y;
    };
    for (const r of rows) {
      if (r.mark && r.mark.host === h) {
        until(r.y);
        state = r.mark.state;
      }
    }
    until(height);
  }
}

function drawMark(svg, c, r) {
  const g = el(svg, "g", {class: "mark " + r.mark.kind + (r.mark.needed ? " needed" : "")});
  const top = r.y - 16;
  el(g, "rect", {x: 0, y: top, width: c.width, height: 21});
  el(g, "text", {x: 4, y: top + 15, class: "time"}, seconds(r.mark.at));
  const first = r.mark.text.split("\n")[0];
  const x = narrow() ? 60 : 90;
  const kind = r.mark.kind === "note" ? "" : (r.mark.needed ? "needed " : "") + r.mark.kind + ": ";
  el(g, "text", {x, y: top + 15}, cut(kind + first, Math.floor((box.clientWidth - x) / 6.6)));
  el(g, "title", {}, r.mark.text + "\n" + r.mark.where);
  markRows.push(top);
}

// endOf returns where a packet's line ends. A lost one ends at the host that dropped it, or between
// the hosts.
function endOf(a, c, x1, yEnd, y) {
  if (!a.lost) return a.to === a.from ? [x1 + 30, y + 4] : [c.x.get(a.to), yEnd];
  const to = c.x.get(a.to) ?? x1 + (x1 > c.width / 2 ? -120 : 120);
  if (a.lostAt !== a.from && c.x.has(a.lostAt)) return [c.x.get(a.lostAt), y + 11];
  return [x1 + (to - x1) * 0.72, y + 8];
}

// drawArrow draws a packet's line, and its label in a layer above all lines.
function drawArrow(lines, labels, c, r, ends) {
  const a = r.arrow, y = r.y, x1 = c.x.get(a.from);
  const [x2, y2] = endOf(a, c, x1, ends.get(a), y);
  const kinds = ["packet", a.kind, a.open ? "open" : a.lost ? "lost" : "", a.again ? "again" : ""].join(" ").trim();
  const g = el(lines, "g", {class: kinds}), above = el(labels, "g", {class: kinds});
  el(g, "line", {class: "hit", x1, y1: y, x2, y2});
  el(g, "line", {x1, y1: y, x2, y2});
  if (!a.lost) drawHead(g, x1, y, x2, y2);
  else if (!a.open) drawCross(g, x2, y2);
  const back = x2 < x1, room = back ? x1 - (narrow() ? 62 : 90) : c.width - x1;
  const text = tag(a) + (a.lost ? a.lost + ": " : "") + (a.again ? "retransmission " : "") + a.label;
  el(above, "text", {x: x1 + (back ? -7 : 7), y: y - 3, "text-anchor": back ? "end" : "start"}, cut(text, Math.floor((room - 12) / 6.62)));
  groups.push({parts: [g, above], y, arrow: a});
  const index = groups.length - 1;
  for (const part of [g, above]) {
    el(part, "title", {}, describe(a));
    part.addEventListener("click", () => choose(index));
  }
}

// tag is the number of a packet's connection, if there are several.
const tag = a => (data.connections || []).length > 1 && a.connection >= 0 ? `#${a.connection + 1} ` : "";

function drawHead(g, x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - 8 * ux, y2 - 8 * uy];
  el(g, "polygon", {points: `${x2},${y2} ${bx - 3.4 * uy},${by + 3.4 * ux} ${bx + 3.4 * uy},${by - 3.4 * ux}`});
}

function drawCross(g, x, y) {
  for (const d of [-5, 5]) el(g, "line", {class: "cross", x1: x - 5, y1: y - d, x2: x + 5, y2: y + d});
}

function describe(a) {
  const to = a.to >= 0 ? hosts[a.to] : "?";
  const end = a.open ? a.lost : a.lost ? `lost (${a.lost}) at ${(a.at / 1e9).toFixed(9)} s` : `delivered at ${(a.at / 1e9).toFixed(9)} s, ${((a.at - a.sent) / 1e6).toFixed(3)} ms later`;
  return `${hosts[a.from]} → ${to}, sent at ${(a.sent / 1e9).toFixed(9)} s, ${end}. ${a.again ? "Retransmission. " : ""}${a.label}. ${a.detail}`;
}

function choose(index) {
  if (index < 0 || index >= groups.length) return;
  for (const part of groups[chosen]?.parts ?? []) part.classList.remove("chosen");
  chosen = index;
  for (const part of groups[index].parts) part.classList.add("chosen");
  detail.textContent = describe(groups[index].arrow);
  const y = groups[index].y + 30 - box.scrollTop;
  if (y < 60 || y > box.clientHeight - 30) box.scrollTop += y - box.clientHeight / 2;
}

function drawTimes(svg, rows, gaps) {
  let last = "";
  for (const r of rows) {
    if (!r.arrow || seconds(r.at) === last) continue;
    last = seconds(r.at);
    el(svg, "text", {x: 4, y: r.y, class: "time"}, last);
  }
  for (const g of gaps) el(svg, "text", {x: 12, y: g.y, class: "gap"}, g.text);
}

function draw() {
  box.replaceChildren();
  [groups, markRows, chosen] = [[], [], -1];
  const shown = arrows.filter(isShown), rows = rowsOf(shown), c = columns(shown);
  const {gaps, height} = place(rows);
  drawHeads(c);
  const svg = el(box, "svg", {width: c.width, height, role: "img", "aria-label": "Sequence diagram. The captures and the notes below have the same as text."});
  const ends = new Map(rows.filter(r => r.end).map(r => [r.end, r.y]));
  for (const r of rows) if (r.mark) drawMark(svg, c, r);
  drawLives(svg, c, rows, height);
  drawTimes(svg, rows, gaps);
  const lines = el(svg, "g", {}), labels = el(svg, "g", {});
  for (const r of rows) if (r.arrow) drawArrow(lines, labels, c, r, ends);
  document.getElementById("shown").textContent = `${shown.length} of ${arrows.length} packets`;
}

// showMark scrolls to the first mark of a kind, at a share of the height.
function showMark(kind, share) {
  const row = box.querySelector(`.mark.${kind} rect`);
  if (row) box.scrollTop = Number(row.getAttribute("y")) + 60 - box.clientHeight * share;
}

function nextMark(direction) {
  const at = box.scrollTop + box.clientHeight / 2 - 30;
  const candidates = markRows.filter(y => direction > 0 ? y > at + 1 : y < at - 1).sort((a, b) => a - b);
  const y = direction > 0 ? candidates[0] : candidates[candidates.length - 1];
  if (y !== undefined) box.scrollTop = y - box.clientHeight / 2 + 30;
}

function addFilters() {
  const form = document.getElementById("filters"), field = document.getElementById("hosts");
  hosts.forEach((name, i) => {
    const label = document.createElement("label"), check = document.createElement("input");
    check.type = "checkbox";
    check.checked = true;
    check.addEventListener("change", () => check.checked ? hidden.delete(i) : hidden.add(i));
    label.append(check, " " + name);
    field.append(label);
  });
  const select = document.getElementById("connection"), used = new Set(arrows.map(a => a.connection));
  (data.connections || []).forEach((name, i) => used.has(i) && select.append(new Option(`#${i + 1} ${name}`, i)));
  form.addEventListener("change", draw);
  form.addEventListener("submit", e => e.preventDefault());
  document.getElementById("first").addEventListener("click", () => showMark("failure", 0.8));
  const needed = document.getElementById("needed");
  needed.hidden = !marks.some(m => m.needed);
  needed.addEventListener("click", () => showMark("needed", 0.3));
}

box.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const act = {j: () => choose(chosen + 1), k: () => choose(chosen - 1), n: () => nextMark(1), p: () => nextMark(-1)}[e.key];
  if (!act) return;
  e.preventDefault();
  act();
});
let width = 0;
window.addEventListener("resize", () => {
  if (box.clientWidth === width) return;
  width = box.clientWidth;
  draw();
});
addFilters();
draw();
width = box.clientWidth;
showMark("failure", 0.8);
