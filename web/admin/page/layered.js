// layered.js places a network from left to right, as the server has laid it out, for windows that
// are wide enough.

const box = { w: 150, h: 58 };
const step = { along: box.w + 106, across: box.h + 22 }; // from layer to layer, and from row to row
const margin = 24;
const above = 18; // room above the first row, for the mark of a stage

// layered gives where everything stands: boxes of stages, points of ends, paths of links and places
// of their labels.
export function layered(layout) {
  const rows = [...layout.nodes, ...layout.links.flatMap((l) => l.via ?? [])].map((s) => s.row);
  const low = Math.min(0, ...rows), high = Math.max(0, ...rows);
  // The ends are points, so that their layers need less room.
  const last = layout.layers - 1, hasExit = layout.exit >= 0;
  const centre = (layer) => {
    if (layer === 0) return margin;
    return margin + step.along * layer - box.w / 2 - (hasExit && layer === last ? box.w / 2 : 0);
  };
  const at = (spot) => ({ x: centre(spot.layer), y: (spot.row - low) * step.across + box.h / 2 + above });
  const node = (n) => {
    const { x, y } = at(layout.nodes[n]);
    return n === 0 || n === layout.exit ? { x, y, end: true } : { x: x - box.w / 2, y: y - box.h / 2, ...box };
  };
  const points = (link) => sides(link, layout, at);
  return {
    width: centre(last) + margin + (hasExit ? 0 : box.w / 2),
    height: (high - low) * step.across + box.h + above + 8,
    node,
    path: (link) => curve(points(link)),
    // A label stands on the first part of the way: of the arms of a branch where they are apart
    // already, of links that meet where they still are.
    label: (link) => {
      const alone = (end) => layout.links.filter((l) => l[end] === link[end]).length === 1;
      const [a, b] = points(link);
      return on(a, b, alone("from") ? 0.35 : alone("to") ? 0.68 : 0.5);
    },
  };
}

// sides are the points of a link: where it leaves, where it passes layers, in which it goes
// straight, and where it arrives.
function sides(link, layout, at) {
  const end = (n, out) => {
    const { x, y } = at(layout.nodes[n]);
    const r = n === 0 || n === layout.exit ? 7 : box.w / 2;
    return { x: x + (out ? r : -r - 7), y }; // with room for the arrow's head
  };
  const via = (link.via ?? []).map(at).flatMap(({ x, y }) => [{ x: x - box.w / 2, y }, { x: x + box.w / 2, y }]);
  return [end(link.from, true), ...via, end(link.to, false)];
}

// on is a point of the curve from a to b, t of the way.
function on(a, b, t) {
  const s = 1 - t, early = s * s * s, late = t * t * t, rise = early + 3 * s * s * t;
  return { x: early * a.x + late * b.x + ((1 - early - late) * (a.x + b.x)) / 2, y: rise * a.y + (1 - rise) * b.y };
}

function curve(points) {
  let d = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1], b = points[i], middle = (a.x + b.x) / 2;
    d += `C${middle},${a.y} ${middle},${b.y} ${b.x},${b.y}`;
  }
  return d;
}
