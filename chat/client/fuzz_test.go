package client

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzLines: for any input from a server, the client stays consistent, shows each msgid once, and
// sends only complete lines.
func FuzzLines(f *testing.F) {
	f.Add(strings.Join(page("#g", line(1, "bob", "one"), line(2, "bob", "two")), "\n"))
	f.Add(":ann!u@h JOIN #g\n:srv.x 353 ann = #g :@bob ann\n:srv.x 366 ann #g :End\n:bob!u@h KICK #g ann :x\n:ann!u@h JOIN #g")
	f.Add("AUTHENTICATE +\nAUTHENTICATE x\n:s CAP * DEL :batch\n:s CAP * NEW :sasl\n:s FAIL CHATHISTORY X AFTER #g :x\nERROR :bye")
	f.Add("@msgid=1 :bob!u@h PRIVMSG ann :x\n:bob!u@h NICK ann\n:ann!u@h NICK bob\n:bob!u@h PRIVMSG #g :\x01ACTION \x01\n:bob REDACT #g 1\nPING")
	f.Add(":s BATCH +a chathistory #g\n@batch=a BATCH +b x\n:s BATCH -a\n:s MARKREAD #g timestamp=2026-11-21T12:00:00.000Z\n:s RENAME #g #h")
	f.Fuzz(func(t *testing.T, text string) {
		c := New(Config{Nick: "ann", Nonce: "n", Rooms: []string{"#g"}})
		c.Connected(start)
		c.HandleLine(":srv.x CAP * ACK :message-tags server-time batch echo-message draft/chathistory", start)
		c.HandleLine(":srv.x 001 ann :Welcome", start)
		c.HandleLine(":ann!u@h JOIN #g", start)
		for l := range strings.SplitSeq(text, "\n") {
			c.HandleLine(l, start)
			for _, v := range c.Conversations() {
				c.LoadOlder(v)
				c.MarkRead(v)
			}
			c.Tick(start)
		}
		if v := c.Find("#g"); v != nil {
			c.Send(v, TextMessage, text)
		}
		c.Disconnected(nil)
		checkWhole(t, c)
	})
}

func checkWhole(t *testing.T, c *Client) {
	t.Helper()
	for _, v := range c.Conversations() {
		if c.Find(v.Name) != v {
			t.Fatalf("Find(%q): got %p, want the conversation of this name, %p", v.Name, c.Find(v.Name), v)
		}
		seen := map[string]bool{}
		for _, m := range v.Messages {
			if m.ID != "" && seen[m.ID] {
				t.Fatalf("conversation %q: got msgid %q twice, want each message once", v.Name, m.ID)
			}
			seen[m.ID] = true
		}
	}
	out := c.Output()
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\r\n")) || bytes.ContainsRune(out, 0) {
		t.Fatalf("the client sends %q, want complete lines without NUL", out)
	}
}
