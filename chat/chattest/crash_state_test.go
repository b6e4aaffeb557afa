//go:build linux

package chattest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/internal/testsize"
)

// stateMost is how many changes are acknowledged until the kill, at most.
const stateMost = 60

// A server that is killed at any moment has every change of its state that was acknowledged: modes,
// bans, ranks, topics and names of rooms, metadata, read markers, bans from the server, accounts
// and uploads.
func TestNoAcknowledgedChangeOfStateIsLostByAKill(t *testing.T) {
	kills := testsize.Of(t, "WEIR_CHATTEST_STATE_KILLS", 3)
	seed := uint64(testsize.Of(t, "WEIR_CHATTEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	everyProgram(t, func(t *testing.T, p *program) {
		if p.command[0] != "weir" {
			t.Skipf("%s has no such state", p.name)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		s := newStateServer(t, p, t.TempDir())
		items := s.items()
		acknowledged := map[string]int{}
		for round := range kills {
			s.changeUntilKilled(t, items, round, random)
			for _, it := range items {
				acknowledged[it.name] += it.acked - it.before
			}
			s.mustRestart(t)
			s.judge(t, items)
			if t.Failed() {
				t.Fatalf("round %d of WEIR_CHATTEST_SEED=%d", round, seed)
			}
		}
		t.Logf("seed %d: %d kills; changes acknowledged: %v; 0 lost", seed, kills, acknowledged)
	})
}

// stateServer is a server with a page, and accounts ann, an operator, and bob.
type stateServer struct {
	*server
	web string
}

func newStateServer(t *testing.T, p *program, data string) *stateServer {
	t.Helper()
	s := &stateServer{server: &server{program: p, data: data}}
	s.account(t, "ann", statePassword, account.Operator)
	s.account(t, "bob", statePassword, account.Member)
	config := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(config, []byte("[upload]\nfiles_per_day = 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.more = []string{"--config", config, "--registration", "open", "--web", ""}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() && s.said != nil {
			t.Logf("%s said:\n%s", p.name, s.said)
		}
	})
	s.mustRestart(t)
	return s
}

const statePassword = "correct-horse"

// pageAddress matches the address of the page in what the server logs.
var pageAddress = regexp.MustCompile(`(?:entrance=web address=|http://)(127\.0\.0\.1:[0-9]+)`)

// mustRestart starts the server with its page at a port that the kernel chooses.
func (s *stateServer) mustRestart(t *testing.T) {
	t.Helper()
	s.more[len(s.more)-1] = "127.0.0.1:0"
	s.mustStart(t)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if m := pageAddress.FindStringSubmatch(s.said.String()); m != nil {
			s.web = m[1]
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not log its page's address: %s", s.said)
		}
	}
}

// logIn is a client of an account, with a device of its own, in some rooms.
func (s *stateServer) logIn(t *testing.T, name, device string, rooms ...string) *client {
	t.Helper()
	c := s.client(t, name+" at "+device)
	c.must(t, c.comeIn(name, name+"@"+device+":"+statePassword, "draft/metadata-2", "draft/channel-rename", "draft/chathistory"))
	for _, room := range rooms {
		if lines, err := c.ask("JOIN " + room); err != nil {
			t.Fatal(err, lines)
		}
	}
	return c
}

// ask says something, and returns what is told until it is done.
func (c *client) ask(lines ...string) ([]string, error) {
	if err := c.say(lines...); err != nil {
		return nil, err
	}
	return c.settled()
}

// changeUntilKilled has all items changed until so many changes are acknowledged, and kills the
// server a random moment later.
func (s *stateServer) changeUntilKilled(t *testing.T, items []*item, round int, random *rand.Rand) {
	t.Helper()
	enough, moment := int64(random.IntN(stateMost)), time.Duration(random.IntN(5000))*time.Microsecond
	bob := s.logIn(t, "bob", "bob", stateRoom)
	go func() { // until the server is killed
		for {
			if _, err := bob.line(); err != nil {
				return
			}
		}
	}()
	for _, it := range items {
		it.before = it.acked
		it.client = s.logIn(t, "ann", it.device(), it.room)
	}
	workUntilKilled(t, s.server, enough, moment, items, func(it *item, acknowledged func()) {
		for it.change(s, it) {
			if it.refused != "" {
				t.Errorf("%s: number %d was refused: %s", it.name, it.sent, it.refused)
			}
			acknowledged()
		}
	})
	for _, it := range items {
		it.client.conn.Close()
	}
	bob.conn.Close()
}

// judge compares what the server has with what was acknowledged, and sees that it has left nothing
// behind.
func (s *stateServer) judge(t *testing.T, items []*item) {
	t.Helper()
	c := s.logIn(t, "ann", "judge", stateRoom, spelledRoom)
	defer c.conn.Close()
	for _, it := range items {
		fits, err := it.read(s, c)
		if err != nil {
			t.Fatalf("%s: %v", it.name, err)
		}
		n := it.sent
		for n >= it.acked && !fits(n) {
			n--
		}
		if n < it.acked {
			t.Errorf("lost: %s was acknowledged up to number %d (%d was asked for), and is not so any more: %s", it.name, it.acked, it.sent, it.seen)
			continue
		}
		it.acked, it.sent = n, n
	}
	s.tidy(t)
}

// tidy sees that the server has left no temporary files of the one that was killed.
func (s *stateServer) tidy(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.data, func(path string, e fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasSuffix(name, ".tmp") || strings.HasPrefix(name, ".state-") || strings.HasPrefix(name, ".new-") {
			t.Errorf("%s is left behind", path)
		}
		return nil // a file may go meanwhile
	})
	if err != nil {
		t.Error(err)
	}
}

// item is a part of the state that is changed again and again, to number 1, 2, 3...
type item struct {
	name, room string
	// the number that was asked for, and acknowledged, last; acked when the round began
	sent, acked, before int
	refused             string // what the last change was answered, if it was refused
	client              *client
	seen                string // what read found

	change func(*stateServer, *item) bool // to the next number; false when the connection is gone
	read   func(s *stateServer, c *client) (fits func(n int) bool, err error)
}

func (it *item) device() string {
	return "d" + strings.Map(func(r rune) rune {
		if r == ' ' {
			return -1
		}
		return r
	}, it.name)
}

// by changes by a command, which is acknowledged by a line that has a text in it or, every second
// time, by a PONG.
func by(command, acknowledged func(n int) string) func(*stateServer, *item) bool {
	return func(_ *stateServer, it *item) bool {
		n := it.next()
		sought := acknowledged(n)
		lines := []string{command(n)}
		if n%2 == 0 {
			sought = fmt.Sprintf(":done%d", n)
			lines = append(lines, fmt.Sprintf("PING :done%d", n))
		}
		if it.client.say(lines...) != nil {
			return false
		}
		for {
			line, err := it.client.line()
			if err != nil {
				return false
			}
			if strings.Contains(line, " FAIL ") {
				it.refused = line
			}
			if strings.Contains(line+" ", sought) || it.refused != "" && n%2 == 1 {
				it.answered(n)
				return true
			}
		}
	}
}

// next is the number that is asked for now.
func (it *item) next() int {
	it.sent++
	it.refused = ""
	return it.sent
}

// answered notes the answer to a number.
func (it *item) answered(n int) {
	if it.refused == "" {
		it.acked = n
	}
}
