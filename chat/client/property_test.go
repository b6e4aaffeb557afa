package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
	"pgregory.net/rapid"
)

// world is a room on a server, its client, and a connection on which the test delivers single
// lines.
type world struct {
	c       *Client
	log     []string // stored lines without the @ in front
	texts   []string // the texts of log
	joined  bool
	up      []string // client to server, in flight
	down    []string // server to client, in flight
	said    []string // texts sent by the client's user
	batches int
}

// pump moves the client's output to the connection.
func (w *world) pump() {
	for l := range strings.SplitSeq(string(w.c.Output()), "\r\n") {
		if l != "" {
			w.up = append(w.up, l)
		}
	}
}

func (w *world) connect() {
	w.c.Connected(start)
	w.c.Output()
	for _, l := range []string{":s CAP * ACK :message-tags server-time batch echo-message draft/chathistory", ":s 001 ann :Welcome", ":s 005 ann CASEMAPPING=ascii CHATHISTORY=3 :are", ":s 422 ann :No"} {
		w.c.HandleLine(l, start)
	}
	w.pump()
	w.up = slices.DeleteFunc(w.up, func(l string) bool { return strings.HasPrefix(l, "CAP") })
}

// store appends a message to the log, and sends it to the client if it has joined.
func (w *world) store(from, nonce, text string) {
	id := len(w.log)
	tags := "time=" + formatTime(start.Add(time.Duration(id)*time.Second)) + fmt.Sprintf(";msgid=g-%d", id)
	if nonce != "" {
		tags += ";" + nonceTag + "=" + nonce
	}
	w.log = append(w.log, tags+" :"+from+"!u@h PRIVMSG #g :"+text)
	w.texts = append(w.texts, text)
	if w.joined {
		w.down = append(w.down, "@"+w.log[id])
	}
}

// serve lets the server process one line of the client.
func (w *world) serve() {
	if len(w.up) == 0 {
		return
	}
	m, err := ircmsg.ParseLine(w.up[0])
	w.up = w.up[1:]
	if err != nil {
		panic(err)
	}
	switch m.Command {
	case "JOIN":
		w.joined = true
		w.down = append(w.down, ":ann!u@h JOIN #g")
	case "PRIVMSG":
		_, nonce := m.GetTag(nonceTag)
		w.store("ann", nonce, m.Params[1])
	case "CHATHISTORY":
		w.history(m.Params[0], m.Params[2], 3)
	}
}

func (w *world) history(kind, point string, n int) {
	from, to := max(0, len(w.log)-n), len(w.log)
	at := -1
	fmt.Sscanf(point, "msgid=g-%d", &at)
	switch kind {
	case "AFTER":
		from = min(at+1, len(w.log))
		to = min(from+n, len(w.log))
	case "BEFORE":
		from, to = max(0, at-n), at
	}
	w.batches++
	id := fmt.Sprint("b", w.batches)
	w.down = append(w.down, ":s BATCH +"+id+" chathistory #g")
	for _, l := range w.log[from:to] {
		w.down = append(w.down, "@batch="+id+";"+l)
	}
	w.down = append(w.down, ":s BATCH -"+id)
}

// deliver lets the client process one line of the server.
func (w *world) deliver() {
	if len(w.down) > 0 {
		w.c.HandleLine(w.down[0], start)
		w.down = w.down[1:]
		w.pump()
	}
}

// lose breaks the connection. Of the lines in flight to the server, the first keep arrive.
func (w *world) lose(keep int) {
	w.joined = false
	for range min(keep, len(w.up)) {
		w.serve()
	}
	w.joined = false
	w.up, w.down = nil, nil
	w.c.Disconnected(nil)
}

func (w *world) quiet() {
	for len(w.up)+len(w.down) > 0 {
		w.serve()
		w.deliver()
	}
}

func (w *world) say(text string) {
	w.said = append(w.said, text)
	w.c.Send(w.c.Find("#g"), TextMessage, text)
	w.pump()
}

// TestEveryMessageIsShownOnceInOrder: wherever connections break, the client shows the room's log
// in order, and every message of its user is in it once.
func TestEveryMessageIsShownOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{c: New(Config{Nick: "ann", Nonce: "n", Rooms: []string{"#g"}})}
		w.connect()
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"other": func(*rapid.T) { n++; w.store("bob", "", fmt.Sprint("bob ", n)) },
			"same":  func(*rapid.T) { w.say("same") },
			"say":   func(*rapid.T) { n++; w.say(fmt.Sprint("ann ", n)) },
			"serve": func(*rapid.T) { w.serve() },
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "lines") {
					w.deliver()
				}
			},
			"older": func(*rapid.T) { w.c.LoadOlder(w.c.Find("#g")); w.pump() },
			"lose": func(t *rapid.T) {
				w.lose(rapid.IntRange(0, 3).Draw(t, "arrive"))
				w.connect()
			},
		})
		w.quiet()
		v := w.c.Find("#g")
		for !v.AtStart && len(w.log) > 0 {
			w.c.LoadOlder(v)
			w.pump()
			if len(w.up) == 0 {
				t.Fatal("LoadOlder: got no request, want one, as the history has older messages")
			}
			w.quiet()
		}
		var shown, own []string
		for _, m := range v.Messages {
			shown = append(shown, m.Text)
			if m.Own {
				own = append(own, m.Text)
			}
		}
		if !slices.Equal(shown, w.texts) {
			t.Fatalf("the client shows %q, want the log %q", shown, w.texts)
		}
		if !slices.Equal(own, w.said) || len(v.Unsent()) > 0 {
			t.Fatalf("own messages in the room: %q, want %q", own, w.said)
		}
	})
}
