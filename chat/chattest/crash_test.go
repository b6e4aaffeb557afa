//go:build linux

package chattest

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/chat/log"
	"weir/internal/testsize"
)

const (
	crashRoom     = "#crash"
	crashTalkers  = 4   // number of talkers; every second one requests echoes, the others use PING
	crashInFlight = 8   // unacknowledged messages of each talker
	crashMaxAcks  = 250 // maximum number of acknowledgments before the kill
	// minimum number of messages that a joining guest is sent, if there are so many
	crashMinReplay = 50
)

// crashes counts what happened in a run of the crash test.
type crashes struct {
	kills, acknowledged, received, unacknowledged, truncated, flipped, appended, uncommitted int
}

// A server that is killed at any moment, and whose log is then damaged anywhere after the
// acknowledged messages, keeps every acknowledged message: once, and in order.
func TestKillLosesNoAcknowledgedMessage(t *testing.T) {
	kills := testsize.Of(t, "WEIR_CHATTEST_KILLS", 15)
	seed := uint64(testsize.Of(t, "WEIR_CHATTEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	everyProgram(t, func(t *testing.T, p *program) { crashAgain(t, p, kills, seed) })
}

// crashAgain kills a server repeatedly.
func crashAgain(t *testing.T, p *program, kills int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	s := p.run(t)
	var before []string // the history after the last round
	var sum crashes
	for round := range kills {
		before = crash(t, s, round, random, before, &sum)
		if t.Failed() {
			t.Fatalf("failed in round %d; WEIR_CHATTEST_SEED=%d repeats the run", round, seed)
		}
	}
	t.Logf("seed %d: %d kills; %d messages acknowledged, %d received by others, %d stored that were neither; damage: %d truncated, %d bits flipped, %d with random bytes appended, %d without the committed offset: 0 lost, 0 duplicated, 0 out of order",
		seed, sum.kills, sum.acknowledged, sum.received, sum.unacknowledged, sum.truncated, sum.flipped, sum.appended, sum.uncommitted)
}

// crash runs one round: talk, kill, damage, restart, read. It returns the history.
func crash(t *testing.T, s *server, round int, random *rand.Rand, before []string, sum *crashes) []string {
	t.Helper()
	all := talkUntilKilled(t, s, round, random)
	sum.kills++
	known := slices.Clone(before)
	for _, c := range all {
		sum.acknowledged += len(c.acknowledged)
		sum.received += len(c.received)
		known = append(append(known, c.acknowledged...), c.received...)
	}
	holed := damage(t, s, known, random, sum)
	if random.IntN(3) == 0 {
		interrupt(t, s, random)
		sum.kills++
	}
	s.mustStart(t)
	end := readRoom(t, s) // before the log is read: the first join makes the server repair it
	history := readLog(t, s)
	if len(end) > len(history) || !slices.Equal(history[len(history)-len(end):], end) || len(end) < min(crashMinReplay, len(history)) {
		t.Errorf("a joining client received %d messages, want the last %d or more of the %d in the log", len(end), crashMinReplay, len(history))
	}
	judge(t, history, before, all, holed, sum)
	return history
}

// interrupt kills the server while it repairs the log.
func interrupt(t *testing.T, s *server, random *rand.Rand) {
	t.Helper()
	s.mustStart(t)
	c := s.client(t, "early")
	defer c.conn.Close()
	c.must(t, c.send("NICK early", "USER early 0 * :early", "JOIN "+crashRoom))
	// not for synchronization: kills at any point of a repair
	time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
	if err := s.kill(); err != nil {
		t.Error(err)
	}
}

// judge compares a history with what was known of it. If it is holed, unknown messages may be
// missing before known ones.
func judge(t *testing.T, history, before []string, all []*talker, holed bool, sum *crashes) {
	t.Helper()
	if len(history) < len(before) || !slices.Equal(history[:len(before)], before) {
		t.Errorf("lost or reordered: got a log of %d messages that does not begin with the %d of the last round, want those unchanged", len(history), len(before))
		return
	}
	recent := history[len(before):]
	place := map[string]int{}
	for i, text := range history {
		if first, twice := place[text]; twice {
			t.Errorf("duplicated: got %.30q at places %d and %d of the log, want it once", text, first, i)
		}
		place[text] = i
	}
	next := map[string]int{} // by talker
	for _, text := range recent {
		who, n := sender(text)
		if n < next[who] || n > next[who] && !holed {
			t.Errorf("lost or out of order: got %.30q after number %d of %s, want number %d", text, next[who]-1, who, next[who])
		}
		next[who] = n + 1
	}
	known := map[string]bool{}
	for _, c := range all {
		c.judge(t, place, known)
	}
	sum.unacknowledged += len(recent) - len(known)
}

// judge compares a history with what one client knows.
func (c *talker) judge(t *testing.T, place map[string]int, known map[string]bool) {
	t.Helper()
	last := -1
	for _, text := range c.received {
		at, there := place[text]
		switch known[text] = true; {
		case !there:
			t.Errorf("lost: %s received %.30q, but the log does not contain it (a message is stored before it is delivered)", c.name, text)
		case at <= last:
			t.Errorf("out of order: %s received %.30q, place %d of the log, after the message at place %d; want the log's order", c.name, text, at, last)
		}
		last = at
	}
	for _, text := range c.acknowledged {
		known[text] = true
		if _, there := place[text]; !there {
			t.Errorf("lost: %s received the acknowledgement of %.30q, but the log does not contain it", c.name, text)
		}
	}
}

// sender parses a text "ROUND TALKER N".
func sender(text string) (who string, n int) {
	words := strings.Fields(text)
	n, _ = strconv.Atoi(words[2])
	return words[1], n
}

// readLog reads the room's log from disk, without the server.
func readLog(t *testing.T, s *server) []string { return roomTexts(t, s, crashRoom) }

// roomTexts returns the texts in a room's log.
func roomTexts(t *testing.T, s *server, room string) []string {
	t.Helper()
	l, err := log.Open(s.data+"/rooms/"+strings.ToLower(room), log.Options{ReadOnly: true})
	if os.IsNotExist(err) {
		return nil // killed before the first message
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lines, err := l.After(0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, line := range lines {
		if _, text, is := strings.Cut(strings.TrimRight(string(line.Plain()), "\r\n"), " PRIVMSG "+room+" :"); is {
			texts = append(texts, text)
		}
	}
	return texts
}

// readRoom returns the end of the history as a joining guest receives it.
func readRoom(t *testing.T, s *server) (texts []string) {
	t.Helper()
	c := s.guest(t, "reader")
	defer c.conn.Close()
	c.must(t, c.send("JOIN "+crashRoom))
	for {
		line, err := c.line()
		if err != nil {
			t.Fatal(err)
		}
		if text, is := said(line); is {
			texts = append(texts, text)
		}
		if strings.Contains(line, " 366 ") {
			return texts
		}
	}
}

// said returns the text of a PRIVMSG to the room.
func said(line string) (string, bool) {
	_, text, is := strings.Cut(strings.TrimRight(line, "\r\n"), " PRIVMSG "+crashRoom+" :")
	return stamp.ReplaceAllString(text, ""), is
}

// stamp is the time in a message that is replayed to a client without server-time.
var stamp = regexp.MustCompile(`^\[(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\] `)
