"use strict";
// Draws the flame graphs of the tree in #tree, and searches the table and the graphs.
(() => {
  const tree = JSON.parse(document.getElementById("tree").textContent);
  const rowHeight = 18, charWidth = 6.4, svgSpace = "http://www.w3.org/2000/svg";
  const link = (node, parent, depth) => {
    node.parent = parent;
    node.depth = depth;
    (node.children || []).forEach(c => link(c, node, depth + 1));
  };
  link(tree, null, 0);

  const cost = ns => Math.abs(ns) >= 999.5 ? (ns / 1000).toFixed(1) + " us" : ns.toFixed(0) + " ns";
  const signed = ns => (ns > 0 ? "+" : "") + cost(ns);
  const sides = {
    diff: {
      size: n => (n.a + n.b) / 2,
      fill: n => mix(n.b > n.a ? "--s7" : "--s0", 60 * Math.min(1, Math.abs(n.b - n.a) / scale)),
      about: n => `${n.name}: ${cost(n.a)} in A, ${cost(n.b)} in B, ${signed(n.b - n.a)}`,
    },
    a: { size: n => n.a, fill: plain, about: n => `${n.name}: ${cost(n.a)}, ${percent(n.a, tree.a)}` },
    b: { size: n => n.b, fill: plain, about: n => `${n.name}: ${cost(n.b)}, ${percent(n.b, tree.b)}` },
  };
  function plain(n) { return mix(n.kernel ? "--s0" : "--s1", 30); }
  function mix(colour, share) { return `color-mix(in srgb, var(${colour}) ${share.toFixed(0)}%, var(--band))`; }
  function percent(part, all) { return all > 0 ? (100 * part / all).toFixed(1) + " %" : "0 %"; }
  // the largest difference below the root: a scale by the root's own would hide what cancels
  let scale = 1;
  const largest = n => (n.children || []).forEach(c => { scale = Math.max(scale, Math.abs(c.b - c.a)); largest(c); });
  largest(tree);

  let wanted = "";
  const matches = n => wanted !== "" && n.name.toLowerCase().includes(wanted);

  class Flame {
    constructor(figure) {
      this.side = sides[figure.dataset.side];
      this.top = this.now = tree;
      this.shapes = new Map();
      this.svg = document.createElementNS(svgSpace, "svg");
      this.svg.setAttribute("tabindex", "0");
      this.svg.setAttribute("role", "application");
      this.svg.setAttribute("aria-label", figure.querySelector("figcaption").textContent);
      this.at = document.createElement("output");
      this.at.className = "at";
      figure.append(this.svg, this.at);
      this.svg.addEventListener("click", e => { const n = this.nodeOf(e); if (n) this.enlarge(n); });
      this.svg.addEventListener("pointermove", e => { const n = this.nodeOf(e); if (n) this.select(n); });
      this.svg.addEventListener("keydown", e => this.key(e));
      new ResizeObserver(() => this.draw()).observe(figure);
    }
    nodeOf(e) { const g = e.target.closest("g"); return g ? g.node : null; }
    enlarge(n) { this.top = n; this.now = n; this.draw(); }
    select(n) {
      this.shapes.get(this.now)?.classList.remove("now");
      this.now = n;
      this.shapes.get(n)?.classList.add("now");
      this.at.textContent = this.side.about(n);
    }
    key(e) {
      const shown = n => n && this.shapes.has(n);
      const size = this.side.size, n = this.now;
      const level = n.parent ? n.parent.children.filter(shown) : [n];
      const step = d => level[level.indexOf(n) + d];
      let next = null;
      switch (e.key) {
        case "ArrowUp": next = n.parent; break;
        case "ArrowDown": next = (n.children || []).filter(shown).sort((x, y) => size(y) - size(x))[0]; break;
        case "ArrowLeft": next = step(-1); break;
        case "ArrowRight": next = step(1); break;
        case "Home": next = tree; break;
        case "Enter": this.enlarge(n); break;
        case "Escape": this.enlarge(this.top.parent || tree); break;
        default: return;
      }
      e.preventDefault();
      if (shown(next)) this.select(next);
    }
    draw() {
      const width = this.svg.parentNode.clientWidth;
      if (!width || width === this.drawn && this.top === this.drawnTop && wanted === this.drawnFor) return;
      [this.drawn, this.drawnTop, this.drawnFor] = [width, this.top, wanted];
      this.shapes.clear();
      const all = [];
      let deepest = 0;
      const place = (n, x, w) => {
        if (w < 0.5) return;
        deepest = Math.max(deepest, n.depth);
        all.push(this.shape(n, x, w));
        const sum = this.side.size(n);
        for (const c of n.children || []) {
          const part = sum > 0 ? w * this.side.size(c) / sum : 0;
          place(c, x, part);
          x += part;
        }
      };
      for (let n = this.top.parent; n; n = n.parent) all.push(this.shape(n, 0, width));
      place(this.top, 0, width);
      this.svg.setAttribute("height", (deepest + 1) * rowHeight);
      this.svg.setAttribute("width", width);
      this.svg.replaceChildren(...all);
      this.select(this.shapes.has(this.now) ? this.now : this.top);
    }
    shape(n, x, w) {
      const g = document.createElementNS(svgSpace, "g"), r = document.createElementNS(svgSpace, "rect");
      g.node = n;
      for (const [k, v] of Object.entries({ x, y: n.depth * rowHeight, width: w, height: rowHeight })) r.setAttribute(k, v);
      r.style.fill = this.side.fill(n);
      g.append(r);
      const room = Math.floor((w - 6) / charWidth);
      if (room >= 3) {
        const t = document.createElementNS(svgSpace, "text");
        t.setAttribute("x", x + 3);
        t.setAttribute("y", n.depth * rowHeight + 13);
        t.textContent = n.name.length <= room ? n.name : n.name.slice(0, room - 1) + "…";
        g.append(t);
      }
      if (matches(n)) g.classList.add("hit");
      this.shapes.set(n, g);
      return g;
    }
  }
  const flames = [...document.querySelectorAll("figure.flame")].map(f => new Flame(f));

  const search = document.getElementById("search"), found = document.getElementById("found");
  // the cost of matching functions, without those that another matching one has called
  const matched = (n, size) => matches(n) ? size(n) : (n.children || []).reduce((sum, c) => sum + matched(c, size), 0);
  search.addEventListener("input", () => {
    wanted = search.value.trim().toLowerCase();
    for (const row of document.querySelectorAll("tbody tr")) row.hidden = wanted !== "" && !row.cells[0].textContent.toLowerCase().includes(wanted);
    const a = matched(tree, sides.a.size), b = matched(tree, sides.b.size);
    found.textContent = wanted === "" ? "" : `${cost(a)} in A, ${cost(b)} in B, with what they call`;
    flames.forEach(f => f.draw());
  });
  document.addEventListener("keydown", e => {
    if (e.key === "/" && e.target !== search) { e.preventDefault(); search.focus(); }
    if (e.key === "Escape" && e.target === search) { search.value = ""; search.dispatchEvent(new Event("input")); }
  });
})();
