// page.js asks for the topology once a second, has it drawn, and shows the figures of the stage
// that was chosen.

import { count, delay, draw, fit, show, time } from "./draw.js";
import { layered } from "./layered.js";
import { rail } from "./rail.js";

const every = 1000; // milliseconds
const kept = 60; // rates that are remembered of each stage
const phone = 600; // pixels: with less, a network is drawn as a column

const $ = (id) => document.getElementById(id);
const sites = new Map(); // by name: what is known of each site
let chosen = null; // { site, stage }

// rates are those between two snapshots of the same network; null when there is no earlier one.
function ratesBetween(before, now, seconds) {
  if (!before || before.shape !== now.shape || seconds <= 0) return null;
  const per = (a, b) => Math.max(0, (b - a) / seconds);
  const stages = now.stages.map((s, i) => per(before.stages[i].items, s.items));
  const edges = now.edges.map((e, i) => per(before.edges[i].items, e.items));
  const busy = now.stages.map((s, i) => (stages[i] * s.service_ns) / 1e9 / Math.max(1, s.width));
  return { stages, edges, busy };
}

// shapeOf is what makes a network another one.
const shapeOf = (s) => JSON.stringify([s.way, s.stages.map((x) => [x.name, x.width]), s.edges.map((e) => [e.from, e.port, e.to, e.label])]);

function take(report) {
  for (const site of report.sites) {
    site.stages ??= [];
    site.edges ??= [];
    site.shape = shapeOf(site);
    const known = sites.get(site.name) ?? { section: section(site.name), history: [] };
    known.rates = ratesBetween(known.site, site, (report.at_ns - known.at) / 1e9) ?? (known.site?.shape === site.shape ? known.rates : null);
    if (known.site?.shape !== site.shape) {
      known.drawing = null;
      known.history = site.stages.map(() => []);
      if (chosen?.site === site.name) chosen = site.stages.some((s) => s.name === chosen.stage) ? chosen : null;
    }
    known.site = site;
    known.at = report.at_ns;
    known.rates?.stages.forEach((r, i) => {
      known.history[i].push(r);
      if (known.history[i].length > kept) known.history[i].shift();
    });
    sites.set(site.name, known);
  }
  for (const [name, known] of sites) {
    if (report.sites.some((s) => s.name === name)) continue;
    if (known.section.contains($("figures"))) $("sites").after($("figures"));
    known.section.remove();
    sites.delete(name);
    if (chosen?.site === name) chosen = null;
  }
}

function section(name) {
  const s = document.createElement("section");
  s.innerHTML = '<h2></h2><p class="sum"></p><div class="net"></div><div class="upstreams"></div><details><summary>the same as a table</summary><div class="table"></div></details>';
  s.querySelector("h2").textContent = name;
  s.querySelector("details").addEventListener("toggle", render);
  $("sites").append(s);
  return s;
}

const ways = { chain: "a chain of calls", network: "a process network" };

function render() {
  for (const known of sites.values()) {
    const { site, section, rates } = known;
    const net = section.querySelector(".net");
    const room = net.clientWidth - 2 * parseFloat(getComputedStyle(net).paddingLeft);
    const column = room < phone ? Math.min(room, 360) : 0;
    if (!known.drawing || known.column !== column) {
      known.drawing = draw(site, column ? rail(site.layout, column) : layered(site.layout), (i) => choose(site.name, site.stages[i].name));
      known.column = column;
      net.replaceChildren(known.drawing.svg);
      fit(known.drawing);
    }
    const index = chosen?.site === site.name ? site.stages.findIndex((s) => s.name === chosen.stage) : -1;
    show(known.drawing, site, rates, index);
    const total = rates ? site.edges.reduce((n, e, i) => n + (e.from === "" ? rates.edges[i] : 0), 0) : 0;
    section.querySelector(".sum").textContent = `${ways[site.way] ?? "not running"}, ${count(total)} requests/s, ${count(site.active)} under way`;
    section.querySelector(".upstreams").replaceChildren(...upstreams(site.upstreams ?? []));
    if (section.querySelector("details").open) section.querySelector(".table").replaceChildren(...tables(site, rates));
  }
  renderFigures();
}

// choose shows a stage's figures, or hides them when they are shown.
function choose(site, stage) {
  const again = chosen?.site === site && chosen.stage === stage;
  chosen = again ? null : { site, stage };
  render();
  if (chosen) $("chosen").focus();
}

function close() {
  if (!chosen) return;
  const at = [...document.querySelectorAll(".stage")].find((g) => g.dataset.stage === chosen.stage && sites.get(chosen.site)?.drawing.svg.contains(g));
  chosen = null;
  render();
  at?.focus();
}

function renderFigures() {
  $("figures").hidden = !chosen;
  if (!chosen) return;
  const { site, rates, history, section } = sites.get(chosen.site);
  if ($("figures").parentElement !== section) section.querySelector(".net").after($("figures"));
  const i = site.stages.findIndex((s) => s.name === chosen.stage);
  const s = site.stages[i];
  if ($("chosen").textContent !== s.name) $("chosen").textContent = s.name;
  const rows = [
    ["rate", `${count(rates?.stages[i] ?? 0)}/s`],
    ["time each (mean)", s.service_ns ? time(s.service_ns) : "not measured yet"],
    ["busy", `${((rates?.busy[i] ?? 0) * 100).toFixed(1)} % of ${s.width > 1 ? `${s.width} at once` : "one"}`],
    ["done", count(s.items)],
    ["a call takes", s.calls ? `${(s.items / s.calls).toFixed(1)} exchanges` : "–"],
    ["lost to panics", count(s.failed)],
    ["at once", s.width || "any number"],
  ];
  const edges = site.edges.map((e, n) => ({ ...e, rate: rates?.edges[n] ?? 0 })).filter((e) => e.to === s.name || e.from === s.name);
  $("detail").replaceChildren(list(rows), spark(history[i], s.name), table("its edges", edgeHead, edges.map((e) => edgeRow(e))));
}

const wait = (e) => (e.depth > 0 && e.rate > 0 ? `≈ ${time(delay(e.depth, e.rate))}` : "–");
const edgeHead = ["from", "to", "rate", "waiting", "how long", "when full", "lost"];
const edgeRow = (e) => {
  const queue = e.port < 0 ? ["–", "–", "–", "–"] : [`${count(e.depth)} (room ${e.cap})`, wait(e), e.full, count(e.dropped + e.refused)];
  return [e.label ? `${e.from}: ${e.label}` : e.from || "in", e.to, `${count(e.rate)}/s`, ...queue];
};

function tables(site, rates) {
  const rows = site.stages.filter((_, i) => i + 1 !== site.layout.exit);
  const stages = rows.map((s) => [s, site.stages.indexOf(s)]).map(([s, i]) => [s.name, `${count(rates?.stages[i] ?? 0)}/s`, s.service_ns ? time(s.service_ns) : "–", s.width || "any", count(s.items), count(s.failed)]);
  const edges = site.edges.map((e, i) => edgeRow({ ...e, rate: rates?.edges[i] ?? 0 }));
  return [table("stages", ["stage", "rate", "time each", "at once", "done", "failed"], stages), table("edges", edgeHead, edges)];
}

// upstreams is how the servers fare that the site's proxies ask; nothing where there are none.
function upstreams(all) {
  if (!all.length) return [];
  const t = table("upstreams", ["proxy", "upstream", "state", "under way", "requests", "failures", "latest failure"],
    all.map((u) => [u.proxy, u.name, u.state, count(u.active), count(u.requests), count(u.failures), u.last]));
  all.forEach((u, i) => t.querySelectorAll("tbody tr")[i].classList.toggle("bad", u.state !== "up"));
  return [t];
}

function list(rows) {
  const dl = document.createElement("dl");
  for (const [name, value] of rows) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    dl.append(dt, dd);
  }
  return dl;
}

function table(caption, head, rows) {
  const t = document.createElement("table");
  t.createCaption().textContent = caption;
  const top = t.createTHead().insertRow();
  for (const name of head) {
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = name;
    top.append(th);
  }
  const body = t.createTBody();
  for (const row of rows) {
    const tr = body.insertRow();
    for (const value of row) tr.insertCell().textContent = value;
  }
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0; // the keyboard can scroll it
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", caption);
  scroll.append(t);
  return scroll;
}

// spark is the rate of the last minute as a line.
function spark(values, name) {
  const figure = document.createElement("figure"), caption = document.createElement("figcaption");
  const most = Math.max(1, ...values);
  caption.textContent = `the last minute, at most ${count(Math.max(0, ...values))}/s`;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${kept} 20`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `rates of ${name}`);
  const line = document.createElementNS(svg.namespaceURI, "polyline");
  line.setAttribute("points", values.map((v, i) => `${kept - values.length + i + 0.5},${19 - (18 * v) / most}`).join(" "));
  svg.append(line);
  figure.append(svg, caption);
  return figure;
}

function say(text, bad) {
  if ($("state").textContent !== text) $("state").textContent = text;
  $("state").classList.toggle("bad", bad);
}

async function ask() {
  const answer = await fetch("api/topology", { cache: "no-store", signal: AbortSignal.timeout(5 * every) });
  if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  return answer.json();
}

async function once() {
  let report;
  try {
    report = await ask();
  } catch (e) {
    say(`no answer from the server: what is shown is old (${e.message})`, true);
    return;
  }
  take(report);
  render();
  say(sites.size ? "live" : "live, but nothing runs", false);
}

async function poll() {
  try {
    if (!document.hidden) await once();
  } finally {
    setTimeout(poll, every);
  }
}

$("close").addEventListener("click", close);
document.addEventListener("keydown", (e) => { if (e.key === "Escape") close(); });
new ResizeObserver(render).observe($("sites"));
poll();
