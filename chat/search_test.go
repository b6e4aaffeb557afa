package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/search"
	"weir/serve"
)

// searcher returns a user that supports SEARCH and is in a room.
func searcher(s *server, name string) *client {
	s.t.Helper()
	c := s.user(name, "batch", "message-tags", "draft/search", "draft/multiline")
	c.send("JOIN #room")
	c.until(" 366 ")
	return c
}

// found returns the lines of the batch that answers a SEARCH.
func (c *client) found(attributes string) (lines []string) {
	c.t.Helper()
	c.send("SEARCH :" + attributes)
	for line := ""; !strings.Contains(line, " BATCH +"); {
		if line = c.until(" "); strings.Contains(line, " FAIL SEARCH ") {
			c.t.Fatalf("%s: SEARCH %s: got %q, want results", c.name, attributes, line)
		}
	}
	for {
		line, ok := c.line()
		switch {
		case !ok:
			c.t.Fatalf("%s: the connection ended, want the results", c.name)
		case strings.Contains(line, " BATCH -"):
			return lines
		}
		lines = append(lines, line)
	}
}

func TestSearchesAreLimitedByAccount(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	s.account("alice", "correct-horse", account.Member)
	alice, bob := s.client("alice"), searcher(s, "bob")
	alice.send("CAP REQ draft/search", "PASS alice:correct-horse", "NICK alice", "USER a 0 * :A", "CAP END")
	alice.until(" 221 ")
	refused := 0
	for range 10 {
		alice.send(strings.TrimSuffix(strings.Repeat("SEARCH text=a\r\n", 10), "\r\n"))
	}
	for _, line := range alice.sync() {
		if strings.HasPrefix(line, ":weir.chat FAIL SEARCH RATE_LIMITED :") {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("got %d of 100 searches refused, want at least 10", refused)
	}
	if lines := bob.found("text=a"); len(lines) != 0 {
		t.Errorf("bob received %q, want no results", lines)
	}
}

func TestASearchFindsALineOfAMultilineMessage(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := searcher(s, "alice")
	alice.send("TOPIC #room :harbours", "BATCH +1 draft/multiline #room", "@batch=1 PRIVMSG #room :first line", "@batch=1 PRIVMSG #room :second line",
		"@batch=1 PRIVMSG #room :the third is of harbours", "BATCH -1")
	alice.sync()
	first := alice.found("text=first")
	if len(first) != 1 || !strings.HasSuffix(first[0], "PRIVMSG #room :first line") {
		t.Fatalf("got %q, want the first line", first)
	}
	_, id, _ := strings.Cut(first[0], ";msgid=")
	id, _, _ = strings.Cut(id, " ")
	if third := alice.found("text=harbours"); len(third) != 1 || !strings.Contains(third[0], ";msgid="+id+" :alice!") || !strings.HasSuffix(third[0], " :the third is of harbours") {
		t.Errorf("SEARCH for the third line: got %q, want it with the id %s, and no topic", third, id)
	}
}

func TestResultsAreLimited(t *testing.T) {
	const maxSearchResults = 100 // as the core limits them
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := searcher(s, "alice")
	for i := range maxSearchResults + 20 {
		alice.send(fmt.Sprintf("PRIVMSG #room :%d %s", i, strings.Repeat("word ", 80)))
	}
	alice.sync()
	if lines := alice.found("text=word;limit=1000"); len(lines) != maxSearchResults || !strings.Contains(lines[maxSearchResults-1], fmt.Sprintf(" :%d word", maxSearchResults+19)) {
		t.Errorf("got %d results, the last is %q; want maxSearchResults with the latest message last", len(lines), lines[len(lines)-1])
	}
}

// TestTheIndexFollows checks that messages are indexed without any search, and that redacted ones
// leave the index.
func TestTheIndexFollows(t *testing.T) {
	t.Parallel()
	s := startServer(t, serve.Goroutine, Options{}).run()
	alice := searcher(s, "alice")
	alice.send("PRIVMSG #room :unspeakable")
	x, err := search.Open(t.Context(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	q, err := search.Parse("unspeakable")
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		found, err := x.Find(t.Context(), q, search.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return len(found) == 1
	})
}

func TestSearchCanBeSwitchedOff(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{NoSearch: true}).run()
	alice := s.client("alice")
	alice.send("CAP REQ draft/search", "CAP END", "NICK alice", "USER a 0 * :A", "SEARCH text=a")
	alice.until(" NAK ")
	alice.until(" 421 alice SEARCH ")
}

// TestTheIndexLeavesABusyServerItsProcessors limits the indexer to a fiftieth of a CPU on a busy
// server, and to half a CPU otherwise.
func TestTheIndexLeavesABusyServerItsProcessors(t *testing.T) {
	var deliveries int64
	rest := indexPauses(func() int64 { return deliveries })
	rest(0)
	const took = 10 * time.Millisecond
	deliveries += 1_000_000
	if got := rest(took); got < 49*took {
		t.Errorf("after %v of work the index of a busy server rests %v, want %v", took, got, 49*took)
	}
	if got := rest(took); got != took {
		t.Errorf("after %v of work that of a quiet server rests %v, want %v", took, got, took)
	}
}
