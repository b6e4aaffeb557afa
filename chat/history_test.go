package chat

import (
	"fmt"
	"strings"
	"testing"
)

// watcher is a member that receives live messages while it requests history, and records how each
// message arrived.
type watcher struct {
	*client
	live, read map[string]bool // by msgid
	twice      int             // messages that arrived live after a batch that contains them
}

// readUntil reads lines until one contains a text.
func (w *watcher) readUntil(end string) {
	w.t.Helper()
	for {
		line, ok := w.line()
		if !ok {
			w.t.Fatalf("the connection ended, want a line with %q", end)
		}
		w.note(line)
		if strings.Contains(line, end) {
			return
		}
	}
}

func (w *watcher) note(line string) {
	tags, _, _ := strings.Cut(line, " ")
	_, id, tagged := strings.Cut(tags, "msgid=")
	id, _, _ = strings.Cut(id, ";")
	switch {
	case !tagged || !strings.Contains(line, "PRIVMSG"):
	case strings.Contains(tags, "batch="):
		w.read[id] = true
	default:
		if w.read[id] {
			w.twice++
		}
		w.live[id] = true
	}
}

// A message in an answer is not sent live after it, and every later message is.
func TestHistoryEndsWhereLiveMessagesBegin(t *testing.T) {
	for _, way := range testWays() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			s := startServer(t, way, Options{}).run()
			const speakers, each = 8, 60
			var all []*client
			for i := range speakers {
				c := s.user(fmt.Sprintf("speaker%d", i))
				c.send("JOIN #room")
				c.until(" 366 ")
				all = append(all, c)
			}
			w := &watcher{client: s.user("watcher", "message-tags", "server-time", "batch", "draft/chathistory"), live: map[string]bool{}, read: map[string]bool{}}
			w.send("JOIN #room")
			w.until(" 366 ")
			done := make(chan struct{}) // closed when all have sent their messages
			go func() {
				defer close(done)
				for n := range each {
					for _, c := range all {
						c.conn.Write(fmt.Appendf(nil, "PRIVMSG #room :%d\r\n", n))
					}
				}
			}()
			for n := 0; ; n++ {
				w.send("CHATHISTORY LATEST #room * 20", fmt.Sprintf("PING :look%d?", n))
				w.readUntil(fmt.Sprintf(" :look%d?", n))
				if len(w.live) == speakers*each {
					break
				}
			}
			<-done
			if w.twice > 0 {
				t.Errorf("%d of %d messages were sent live after a batch that had them, want 0", w.twice, speakers*each)
			}
		})
	}
}

// A thousand lines of maximal length are some megabytes. The answer holds those nearest to the
// requested point.
func TestAnAnswerFromHistoryIsBoundedInBytes(t *testing.T) {
	s := startServer(t, testWays()[0], Options{}).run()
	c := s.user("alice", "batch", "message-tags", "server-time", "draft/chathistory", "echo-message")
	c.send("JOIN #room")
	c.until(" 366 ")
	const lines = 200
	tag := "+t=" + strings.Repeat("x", 4000)
	var ids []string
	for i := range lines {
		c.send(fmt.Sprintf("@%s PRIVMSG #room :%d", tag, i))
	}
	for range lines {
		_, id, _ := strings.Cut(c.until("PRIVMSG"), "msgid=")
		id, _, _ = strings.Cut(id, ";")
		ids = append(ids, id)
	}
	for _, ask := range []struct{ how, holds string }{
		{"LATEST #room * 1000", fmt.Sprint(":", lines-1)},
		{"BEFORE #room msgid=" + ids[150] + " 1000", ":149"},
		{"AFTER #room msgid=" + ids[20] + " 1000", ":21"},
		{"AROUND #room msgid=" + ids[100] + " 1000", ":99"},
		{"AROUND #room msgid=" + ids[100] + " 1000", ":100"},
		{"BETWEEN #room msgid=" + ids[1] + " msgid=" + ids[198] + " 1000", ":2"},
		{"BETWEEN #room msgid=" + ids[198] + " msgid=" + ids[1] + " 1000", ":197"},
	} {
		c.send("CHATHISTORY " + ask.how)
		size, held := 0, false
		for _, line := range c.sync() {
			size += len(line)
			held = held || strings.HasSuffix(line, "PRIVMSG #room "+ask.holds)
		}
		if !held || size < Outbox/4 || size > Outbox*5/8 {
			t.Errorf("%.20s: got an answer of %d bytes, with %s in it: %v; want about half an outbox, with it", ask.how, size, ask.holds, held)
		}
	}
}
