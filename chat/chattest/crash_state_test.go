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

// stateMost is the maximum number of acknowledged changes before the kill.
const stateMaxAcks = 60

// A server that is killed at any moment keeps every acknowledged change of its state: modes, bans,
// ranks, topics and names of rooms, metadata, read markers, server bans, accounts and uploads.
func TestKillLosesNoAcknowledgedState(t *testing.T) {
	kills := testsize.Of(t, "WEIR_CHATTEST_STATE_KILLS", 3)
	seed := uint64(testsize.Of(t, "WEIR_CHATTEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	everyProgram(t, func(t *testing.T, p *program) {
		if p.command[0] != "weir" {
			t.Skipf("%s does not support this state", p.name)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		s := newStateServer(t, p, t.TempDir())
		items := s.items()
		acknowledged := map[string]int{}
		for round := range kills {
			s.changeUntilKilled(t, items, round, random)
			for _, it := range items {
				acknowledged[it.name] += it.acked - it.ackedBefore
			}
			s.mustRestart(t)
			s.judge(t, items)
			if t.Failed() {
				t.Fatalf("failed in round %d; WEIR_CHATTEST_SEED=%d repeats the run", round, seed)
			}
		}
		t.Logf("seed %d: %d kills; changes acknowledged: %v; 0 lost", seed, kills, acknowledged)
	})
}

// stateServer is a server with a web page, and with the accounts ann, an operator, and bob.
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
	s.extraFlags = []string{"--config", config, "--registration", "open", "--web", ""}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() && s.stderr != nil {
			t.Logf("standard error of %s:\n%s", p.name, s.stderr)
		}
	})
	s.mustRestart(t)
	return s
}

const statePassword = "correct-horse"

// pageAddress matches the address of the page in the server's log.
var pageAddress = regexp.MustCompile(`(?:entrance=web address=|http://)(127\.0\.0\.1:[0-9]+)`)

// mustRestart starts the server, with its page on a port that the kernel chooses.
func (s *stateServer) mustRestart(t *testing.T) {
	t.Helper()
	s.extraFlags[len(s.extraFlags)-1] = "127.0.0.1:0"
	s.mustStart(t)
	for end := time.Now().Add(waitLimit); ; time.Sleep(time.Millisecond) {
		if m := pageAddress.FindStringSubmatch(s.stderr.String()); m != nil {
			s.web = m[1]
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server did not log its page's address within %v, but: %s", waitLimit, s.stderr)
		}
	}
}

// logIn returns a client of an account, with its own device name, in some rooms.
func (s *stateServer) logIn(t *testing.T, name, device string, rooms ...string) *client {
	t.Helper()
	c := s.client(t, name+" at "+device)
	c.must(t, c.logIn(name, name+"@"+device+":"+statePassword, "draft/metadata-2", "draft/channel-rename", "draft/chathistory"))
	for _, room := range rooms {
		if lines, err := c.ask("JOIN " + room); err != nil {
			t.Fatalf("JOIN %s: got %q and error %v, want to be in the room", room, lines, err)
		}
	}
	return c
}

// ask sends commands and returns all replies.
func (c *client) ask(lines ...string) ([]string, error) {
	if err := c.send(lines...); err != nil {
		return nil, err
	}
	return c.flush()
}

// changeUntilKilled changes all items until a random number of changes is acknowledged, and kills
// the server a random moment later.
func (s *stateServer) changeUntilKilled(t *testing.T, items []*item, round int, random *rand.Rand) {
	t.Helper()
	enough, moment := int64(random.IntN(stateMaxAcks)), time.Duration(random.IntN(5000))*time.Microsecond
	bob := s.logIn(t, "bob", "bob", stateRoom)
	discard(bob)
	for _, it := range items {
		it.ackedBefore = it.acked
		it.client = s.logIn(t, "ann", it.device(), it.room)
	}
	workUntilKilled(t, s.server, enough, moment, items, func(it *item, acknowledged func()) {
		for it.change(s, it) {
			if it.refused != "" {
				t.Errorf("%s: change number %d was refused with %q, want it acknowledged (the disk is not full)", it.name, it.sent, it.refused)
			}
			acknowledged()
		}
	})
	for _, it := range items {
		it.client.conn.Close()
	}
	bob.conn.Close()
}

// discard reads and discards what a client receives until it is disconnected.
func discard(c *client) {
	go func() {
		for {
			if _, err := c.line(); err != nil {
				return
			}
		}
	}()
}

// judge compares the server's state with the acknowledged changes, and checks that no temporary
// files are left.
func (s *stateServer) judge(t *testing.T, items []*item) {
	t.Helper()
	c := s.logIn(t, "ann", "judge", stateRoom, spelledRoom)
	defer c.conn.Close()
	for _, it := range items {
		fits, err := it.read(s, c)
		if err != nil {
			t.Fatalf("%s: reading the state after the kill: %v", it.name, err)
		}
		n := it.sent
		for n >= it.acked && !fits(n) {
			n--
		}
		if n < it.acked {
			t.Errorf("lost: %s: got %s after the kill, want number %d, the last acknowledged, or one up to %d, the last requested", it.name, it.lastRead, it.acked, it.sent)
			continue
		}
		it.acked, it.sent = n, n
	}
	if s.command[0] == "weir" { // chatd has one of each kind, which it overwrites
		s.checkNoTempFiles(t)
	}
}

// checkNoTempFiles checks that no temporary files of the killed server are left.
func (s *stateServer) checkNoTempFiles(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.data, func(path string, e fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasSuffix(name, ".tmp") || strings.HasPrefix(name, ".state-") || strings.HasPrefix(name, ".new-") {
			t.Errorf("got the temporary file %s after the restart, want none left", path)
		}
		return nil // files may disappear during the walk
	})
	if err != nil {
		t.Error(err)
	}
}

// item is a part of the state that is changed repeatedly, to the numbers 1, 2, 3...
type item struct {
	name, room string
	// The last number requested and acknowledged; before is acked at the start of the round.
	sent, acked, ackedBefore int
	refused                  string // the reply to the last change if it was refused, otherwise ""
	client                   *client
	lastRead                 string // what read found, for messages

	// changes it to the next number; false if the connection is lost
	change func(*stateServer, *item) bool
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

// changeByCommand returns a change by a command. It is acknowledged by a line that contains a text
// or, every second time, by a PONG.
func changeByCommand(command, acknowledged func(n int) string) func(*stateServer, *item) bool {
	return func(_ *stateServer, it *item) bool {
		n := it.next()
		sought := acknowledged(n)
		lines := []string{command(n)}
		if n%2 == 0 {
			sought = fmt.Sprintf(":done%d", n)
			lines = append(lines, fmt.Sprintf("PING :done%d", n))
		}
		if it.client.send(lines...) != nil {
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

// next returns the number to request.
func (it *item) next() int {
	it.sent++
	it.refused = ""
	return it.sent
}

// answered records the reply to a request.
func (it *item) answered(n int) {
	if it.refused == "" {
		it.acked = n
	}
}
