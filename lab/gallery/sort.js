"use strict";
// Filters the rows and the runs of the figures, and sorts each table by a column.
(() => {
  const byId = id => document.getElementById(id);
  const tables = [...document.querySelectorAll(".figures-of")];
  const filter = () => {
    const text = byId("subject").value.trim().toLowerCase(), load = byId("load").value, pattern = byId("pattern").value;
    const runs = new Set([...document.querySelectorAll(".run:checked")].map(c => c.dataset.run));
    let shown = 0, all = 0;
    for (const row of document.querySelectorAll(".figures-of tbody tr")) {
      const figures = [...row.cells].filter(c => c.dataset.run !== undefined);
      row.hidden = text && !row.cells[0].textContent.toLowerCase().includes(text) || load && row.dataset.load !== load ||
        pattern && row.dataset.pattern !== pattern || !figures.some(c => runs.has(c.dataset.run) && c.dataset.v !== undefined);
      all++;
      if (!row.hidden) shown++;
    }
    for (const cell of document.querySelectorAll(".figures-of [data-run]")) cell.hidden = !runs.has(cell.dataset.run);
    byId("shown").textContent = shown < all ? `${shown} of ${all} rows` : `${all} rows`;
  };
  const value = cell => cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  // cells without a figure come last in both directions
  const order = (a, b, sign) => {
    const none = x => x === "–";
    if (none(a) || none(b)) return none(a) - none(b);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  };
  for (const table of tables) {
    for (const head of table.tHead.rows[0].cells) {
      head.querySelector("button").addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1, column = head.cellIndex;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((x, y) => order(value(x.cells[column]), value(y.cells[column]), sign));
        table.tBodies[0].append(...rows);
      });
    }
  }
  byId("filter").addEventListener("input", filter);
  byId("filter").addEventListener("submit", e => e.preventDefault());
  for (const box of document.querySelectorAll(".run")) box.addEventListener("change", filter);
  filter();
})();
