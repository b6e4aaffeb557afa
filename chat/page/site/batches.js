// Batches of IRCv3: the lines of a batch are delivered together when the batch ends.

export class Batches {
  // complete(batch) is called for each complete batch that is not nested in another one. batch =
  // {type, params, tags, nick, items, cut}; cut is the msgid of a message of which the batch has
  // only the first lines.
  constructor(complete) {
    this.complete = complete;
    this.open = new Map();
  }

  // take handles a line that belongs to a batch, or starts or ends one. For others it returns
  // false.
  take(m) {
    const ref = m.tags.get("batch");
    if (m.command === "BATCH") {
      const name = m.params[0].slice(1);
      if (m.params[0][0] === "+") this.open.set(name, { type: m.params[1], params: m.params.slice(2), tags: m.tags, nick: m.nick, items: [], outerRef: ref });
      else this.endBatch(name);
      return true;
    }
    if (ref === undefined) return false;
    this.open.get(ref)?.items.push(m); // lines of an unknown batch are dropped
    return true;
  }

  // endBatch ends a batch: its lines become part of the batch around it, or are passed to complete.
  endBatch(name) {
    const batch = this.open.get(name);
    this.open.delete(name);
    if (!batch) return;
    for (const [inner, b] of this.open) { // a page of history may end inside a multiline message
      if (b.outerRef !== name) continue;
      this.open.delete(inner);
      batch.cut = b.tags.get("msgid");
    }
    const outer = this.open.get(batch.outerRef);
    if (batch.type === "draft/multiline") {
      const m = joined(batch);
      if (outer) outer.items.push(m);
      else this.complete({ type: "", items: [m] });
    } else if (outer && batch.type === "labeled-response") {
      outer.items.push(...batch.items);
    } else {
      this.complete(batch);
    }
  }
}

// joined returns the message of a draft/multiline batch.
function joined(batch) {
  let text = "";
  batch.items.forEach((m, i) => {
    text += (i > 0 && !m.tags.has("draft/multiline-concat") ? "\n" : "") + (m.params[1] ?? "");
  });
  const first = batch.items[0];
  return { tags: batch.tags, source: batch.nick, nick: batch.nick || first?.nick, command: first?.command ?? "PRIVMSG", params: [batch.params[0], text] };
}
