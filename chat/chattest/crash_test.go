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
	crashRoom  = "#crash"
	crashTalk  = 4   // who talk; every second of them asks for echoes, the others learn by PONG
	crashAhead = 8   // messages that each has under way
	crashMost  = 250 // acknowledgements until the kill, at most
	crashLeast = 50  // messages that a guest who joins is shown at least, if there are so many
)

// crashes is what a run of the crash driver found.
type crashes struct {
	kills, acknowledged, shown, kept, cut, flipped, appended, forgotten int
}

// A server that is killed at any moment, and whose log is then cut or corrupted at any byte behind
// what was acknowledged, has everything that was acknowledged: once, and in its order.
func TestCrash(t *testing.T) {
	kills := testsize.Of(t, "WEIR_CHATTEST_KILLS", 15)
	seed := uint64(testsize.Of(t, "WEIR_CHATTEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	everyProgram(t, func(t *testing.T, p *program) { crashAgain(t, p, kills, seed) })
}

// crashAgain kills a server so many times.
func crashAgain(t *testing.T, p *program, kills int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	s := p.run(t)
	var before []string // the history as it was read last
	var sum crashes
	for round := range kills {
		before = crash(t, s, round, random, before, &sum)
		if t.Failed() {
			t.Fatalf("round %d of WEIR_CHATTEST_SEED=%d", round, seed)
		}
	}
	t.Logf("seed %d: %d kills; %d messages acknowledged, %d lines shown to others, %d kept that were neither; tails: %d cut, %d bits flipped, %d with rubbish behind, %d without committed: 0 lost, 0 doubled, 0 out of order",
		seed, sum.kills, sum.acknowledged, sum.shown, sum.kept, sum.cut, sum.flipped, sum.appended, sum.forgotten)
}

// crash is one round: talk, kill, damage, start, read. It returns the history.
func crash(t *testing.T, s *server, round int, random *rand.Rand, before []string, sum *crashes) []string {
	t.Helper()
	all := talkUntilKilled(t, s, round, random)
	sum.kills++
	known := slices.Clone(before)
	for _, c := range all {
		sum.acknowledged += len(c.acknowledged)
		sum.shown += len(c.shown)
		known = append(append(known, c.acknowledged...), c.shown...)
	}
	holed := damage(t, s, known, random, sum)
	if random.IntN(3) == 0 {
		interrupt(t, s, random)
		sum.kills++
	}
	s.mustStart(t)
	end := readRoom(t, s) // before the log: with the first who joins the server puts it in order
	history := readLog(t, s)
	if len(end) > len(history) || !slices.Equal(history[len(history)-len(end):], end) || len(end) < min(crashLeast, len(history)) {
		t.Errorf("who joins is shown %d messages, which are not the last of the %d in the log", len(end), len(history))
	}
	judge(t, history, before, all, holed, sum)
	return history
}

// interrupt kills the server while it puts the log in order.
func interrupt(t *testing.T, s *server, random *rand.Rand) {
	t.Helper()
	s.mustStart(t)
	c := s.client(t, "early")
	defer c.conn.Close()
	c.must(t, c.say("NICK early", "USER early 0 * :early", "JOIN "+crashRoom))
	time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // not to wait for something
	if err := s.kill(); err != nil {
		t.Error(err)
	}
}

// judge compares a history with what was known of it. One that is holed may lack messages that
// nobody knew of before others that are kept.
func judge(t *testing.T, history, before []string, all []*talker, holed bool, sum *crashes) {
	t.Helper()
	if len(history) < len(before) || !slices.Equal(history[:len(before)], before) {
		t.Errorf("lost or reordered: the %d messages that were there before are not the first of %d now", len(before), len(history))
		return
	}
	recent := history[len(before):]
	place := map[string]int{}
	for i, text := range history {
		if first, twice := place[text]; twice {
			t.Errorf("doubled: %.30q is at %d and at %d", text, first, i)
		}
		place[text] = i
	}
	next := map[string]int{} // by talker
	for _, text := range recent {
		who, n := sender(text)
		if n < next[who] || n > next[who] && !holed {
			t.Errorf("out of order, or lost: %.30q comes after number %d of %s", text, next[who]-1, who)
		}
		next[who] = n + 1
	}
	known := map[string]bool{}
	for _, c := range all {
		c.judge(t, place, known)
	}
	sum.kept += len(recent) - len(known)
}

// judge compares a history with what one client knows.
func (c *talker) judge(t *testing.T, place map[string]int, known map[string]bool) {
	t.Helper()
	last := -1
	for _, text := range c.shown {
		at, there := place[text]
		switch known[text] = true; {
		case !there:
			t.Errorf("lost: %s was shown %.30q", c.name, text)
		case at <= last:
			t.Errorf("out of order: %s was shown %.30q, which is at %d, after what is at %d", c.name, text, at, last)
		}
		last = at
	}
	for _, text := range c.acknowledged {
		known[text] = true
		if _, there := place[text]; !there {
			t.Errorf("lost: %.30q of %s was acknowledged", text, c.name)
		}
	}
}

// sender takes a text "ROUND WHO N" apart.
func sender(text string) (who string, n int) {
	words := strings.Fields(text)
	n, _ = strconv.Atoi(words[2])
	return words[1], n
}

// readLog reads the room's log as the protocol's document has it, with no help of the server.
func readLog(t *testing.T, s *server) []string { return roomTexts(t, s, crashRoom) }

// roomTexts are the texts of a room's log.
func roomTexts(t *testing.T, s *server, room string) []string {
	t.Helper()
	l, err := log.Open(s.data+"/rooms/"+strings.ToLower(room), log.Options{ReadOnly: true})
	if os.IsNotExist(err) {
		return nil // killed before anybody could say anything
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

// readRoom reads the end of the history as a guest that joins is shown it.
func readRoom(t *testing.T, s *server) (texts []string) {
	t.Helper()
	c := s.guest(t, "reader")
	defer c.conn.Close()
	c.must(t, c.say("JOIN "+crashRoom))
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

// said is the text of a PRIVMSG to the room.
func said(line string) (string, bool) {
	_, text, is := strings.Cut(strings.TrimRight(line, "\r\n"), " PRIVMSG "+crashRoom+" :")
	return stamp.ReplaceAllString(text, ""), is
}

// stamp is the time in a message that is replayed to a client without server-time.
var stamp = regexp.MustCompile(`^\[(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\] `)
