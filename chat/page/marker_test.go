package page

import (
	"testing"

	"weir/chat"
	"weir/internal/chromium"
)

// lostMarker marks messages as read on a connection that breaks, and returns how often the marker
// is sent on each of the connections: the server confirms it on the second one.
const lostMarker = `import("./client.js").then(({ Client }) => {
	const c = new Client(new Proxy({}, { get: () => () => {} }));
	let sent = [];
	c.socket.send = (text) => sent.push(text);
	Object.assign(c, { name: "ann", entered: true });
	const room = c.room("#a");
	room.completeTo = "abcdefgh-5";
	const at = "2026-11-21T12:00:00.000Z", counts = [];
	for (const connection of [1, 2, 3]) {
		sent = [];
		c.opened();
		Object.assign(c, { ready: true, account: "ann" });
		c.resume(room);
		c.received(":s MARKREAD #a timestamp=2026-11-21T11:00:00.000Z");
		c.received(":s BATCH +h chathistory #a");
		c.received(":s BATCH -h");
		if (connection === 1) c.markRead(room, Date.parse(at));
		counts.push(sent.filter((text) => text.startsWith("MARKREAD #a :timestamp=" + at)).length);
		if (connection === 2) c.received(":s MARKREAD #a timestamp=" + at);
		c.lost(1);
	}
	return counts.join();
})`

func TestPageSendsAReadMarkerAgainThatWasLostInFlight(t *testing.T) {
	t.Parallel()
	h := startHost(t, Config{}, chat.Options{})
	b := open(t)
	b.Go("http://" + h.addr + "/")
	if got := chromium.Eval[string](b.Page, lostMarker); got != "1,1,0" {
		t.Errorf("got the marker sent %s times on three connections, want 1,1,0: until the server confirms it", got)
	}
	b.clean(h)
}
