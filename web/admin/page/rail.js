// rail.js places a network as one column, for a phone: a stage a row, in an order in which links
// lead down. A link to the next row is a line between them. Others run in lanes beside the column:
// on the left those of a branch to its arms, on the right those that meet.

const h = 52; // of a stage
const between = 24; // rows
const lane = 11;
const edge = 16; // from the nearest lane to a stage: room for a corner and an arrow's head
const corner = 5;

export function rail(layout, width) {
  const order = sorted(layout);
  const position = [];
  order.forEach((n, i) => (position[n] = i));
  const buses = lanes(layout, position);
  const room = (side) => edge + lane * Math.max(0, ...buses.filter((b) => b.side === side).map((b) => b.lane)) + 4;
  const left = room("left"), w = width - left - room("right");
  const isEnd = (n) => n === 0 || n === layout.exit;
  const tops = [];
  let y = 4;
  for (const n of order) {
    tops[n] = y;
    y += (isEnd(n) ? 12 : h) + between;
  }
  const centre = left + w / 2;
  const node = (n) => (isEnd(n) ? { x: centre, y: tops[n] + 6, end: true, beside: true } : { x: left, y: tops[n], w, h });
  const path = (link) => {
    const bus = buses.find((b) => b.links.includes(link));
    if (!bus) return `M${centre},${tops[link.from] + (isEnd(link.from) ? 13 : h)}V${tops[link.to] - 8}`;
    return around(bus, node(link.from), node(link.to), left, w);
  };
  return { width, height: y - between + 4, node, path, label: () => null };
}

// sorted are the nodes in an order in which links lead down, but for those that close a cycle, and
// arms of a branch stay together.
function sorted({ nodes, links }) {
  const seen = new Set(), order = [];
  for (const root of nodes.keys()) {
    const done = [];
    const visit = (n) => {
      if (seen.has(n)) return;
      seen.add(n);
      const next = links.filter((l) => l.from === n).map((l) => l.to);
      next.sort((a, b) => nodes[b].row - nodes[a].row).forEach(visit);
      done.push(n);
    };
    visit(root);
    order.push(...done.reverse());
  }
  return order;
}

// lanes gives the links that do not lead to the next row a lane each, or one for all arms of a
// branch, or for all that meet.
function lanes({ links }, position) {
  const into = (n) => links.filter((l) => l.to === n).length;
  const buses = [];
  for (const link of links) {
    if (position[link.to] === position[link.from] + 1) continue;
    const meets = into(link.to) > 1;
    const key = meets ? `to ${link.to}` : `from ${link.from}`;
    let bus = buses.find((b) => b.key === key);
    if (!bus) buses.push((bus = { key, side: meets ? "right" : "left", links: [] }));
    bus.links.push(link);
  }
  for (const b of buses) {
    const rows = b.links.flatMap((l) => [position[l.from], position[l.to]]);
    [b.from, b.to] = [Math.min(...rows), Math.max(...rows)];
  }
  buses.sort((a, b) => a.to - a.from - (b.to - b.from)); // the short ones run nearest
  buses.forEach((b, i) => {
    const taken = buses.slice(0, i).filter((o) => o.side === b.side && o.from < b.to && b.from < o.to).map((o) => o.lane);
    for (b.lane = 0; taken.includes(b.lane); ) b.lane++;
  });
  return buses;
}

// around is the way of a link through its lane: out of the lower part of a stage, into the upper
// part of another.
function around(bus, from, to, left, w) {
  const sign = bus.side === "left" ? -1 : 1;
  const wall = bus.side === "left" ? left : left + w;
  const x = wall + sign * (edge + bus.lane * lane);
  const out = { x: from.end ? from.x + sign * 7 : wall, y: from.end ? from.y : from.y + h * 0.7 };
  const into = { x: (to.end ? to.x + sign * 7 : wall) + sign * 8, y: to.end ? to.y : to.y + h * 0.3 };
  const turn = Math.sign(into.y - out.y) * corner, near = x - sign * corner;
  return `M${out.x},${out.y}H${near}Q${x},${out.y} ${x},${out.y + turn}V${into.y - turn}Q${x},${into.y} ${near},${into.y}H${into.x}`;
}
