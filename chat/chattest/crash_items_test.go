//go:build linux

package chattest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"weir/chat/account"
	"weir/chat/log"
)

const (
	stateRoom   = "#state"
	spelledRoom = "#abcdefghijklmnop" // its capital letters encode a number
)

// items returns the parts of the state under test.
func (s *stateServer) items() []*item {
	secrets := &redaction{texts: map[int]string{}}
	all := []*item{
		{name: "key", change: changeByCommand(format("MODE #state +k k%d"), format("MODE #state +k k%d ")), read: shown("MODE #state", " 324 ", format(" k%d "))},
		{name: "limit", change: changeByCommand(format("MODE #state +l %d"), format("MODE #state +l %d ")), read: shown("MODE #state", " 324 ", format(" %d "))},
		{name: "rank", change: changeByCommand(parity("MODE #state -v bob", "MODE #state +v bob"), parity("MODE #state -v bob ", "MODE #state +v bob ")), read: rank},
		{name: "room ban", change: changeByCommand(ban, format("m%d!*@*")), read: shown("MODE #state +b", " 367 ", format(" m%d!*@* "))},
		{name: "topic", change: changeByCommand(format("TOPIC #state :t%d"), format("TOPIC #state :t%d ")), read: shown("TOPIC #state", " 332 ", format(" :t%d "))},
		{name: "spelling", room: spelledRoom, change: changeByCommand(func(n int) string { return "RENAME " + spelledRoom + " " + spelled(n) }, spelled),
			read: shown("MODE "+spelledRoom, " 324 ", spelled)},
		{name: "metadata of the room", change: changeByCommand(format("METADATA #state SET topic-no :v%d"), format(" :v%d ")),
			read: shown("METADATA #state GET topic-no", " 761 ", format(" :v%d "))},
		{name: "metadata", change: changeByCommand(format("METADATA * SET mood :v%d"), format(" :v%d ")), read: shown("METADATA * GET mood", " 761 ", format(" :v%d "))},
		{name: "server ban", change: changeByCommand(format("KLINE k%d!*@* :reason"), format("Banned k%d!*@*")), read: serverBans},
		{name: "marker", change: marker, read: markers},
		{name: "account", change: register, read: accounts},
		{name: "upload", change: upload, read: uploads},
		{name: "direct message", change: direct, read: directs},
		{name: "redaction", change: secrets.redact, read: secrets.redacted},
	}
	for _, it := range all {
		if it.room == "" {
			it.room = stateRoom
		}
		read := it.read
		it.read = func(s *stateServer, c *client) (func(int) bool, error) {
			it.lastRead = ""
			fits, err := read(s, c)
			if err != nil {
				return nil, err
			}
			return func(n int) bool {
				is := n == 0 || fits(n)
				it.lastRead = fmt.Sprintf("number %d is there: %v", n, is)
				return is
			}, nil
		}
	}
	return all
}

func format(f string) func(int) string {
	return func(n int) string { return fmt.Sprintf(f, n) }
}

func parity(even, odd string) func(int) string {
	return func(n int) string {
		if n%2 == 0 {
			return even
		}
		return odd
	}
}

// spelled returns the room's name with capital letters that encode a number.
func spelled(n int) string {
	b := []byte(spelledRoom)
	for i := range b[1:] {
		if n>>i&1 != 0 {
			b[i+1] -= 'a' - 'A'
		}
	}
	return string(b)
}

// ban replaces a ban by the next one.
func ban(n int) string {
	if n == 1 {
		return "MODE #state +b m1!*@*"
	}
	return fmt.Sprintf("MODE #state +b-b m%d!*@* m%d!*@*", n, n-1)
}

// shown returns a function that reads the number from the replies to a command with a numeric.
func shown(command, numeric string, has func(int) string) func(*stateServer, *client) (func(int) bool, error) {
	return func(_ *stateServer, c *client) (func(int) bool, error) {
		lines, err := c.ask(command)
		var all strings.Builder
		for _, line := range lines {
			if strings.Contains(line, numeric) {
				all.WriteString(line + " \n")
			}
		}
		return func(n int) bool { return strings.Contains(all.String(), has(n)) }, err
	}
}

// rank reads bob's rank.
func rank(s *stateServer, _ *client) (func(int) bool, error) {
	state, err := os.ReadFile(filepath.Join(s.data, "rooms", stateRoom, "state"))
	// +v, or +ov if bob was the first in the room
	voiced := strings.Contains(string(state), "v bob")
	return func(n int) bool { return voiced == (n%2 == 1) }, err
}

func serverBans(s *stateServer, _ *client) (func(int) bool, error) {
	bans, err := os.ReadFile(filepath.Join(s.data, "bans"))
	if os.IsNotExist(err) { // killed before the first ban
		err = nil
	}
	return func(n int) bool { // all up to n are there
		for i := 1; i <= n; i++ {
			if !bytes.Contains(bans, fmt.Appendf(nil, "k%d!*@* ", i)) {
				return false
			}
		}
		return true
	}, err
}

// marker sends a message and moves the read marker past it. The acknowledged number is that of the
// message.
func marker(_ *stateServer, it *item) bool {
	n := it.next()
	if it.client.send(fmt.Sprintf("PRIVMSG #state :said %d", n), "MARKREAD #state timestamp=2100-01-01T00:00:00.000Z") != nil {
		return false
	}
	for {
		line, err := it.client.line()
		if err != nil {
			return false
		}
		if strings.Contains(line, " 404 ") || strings.Contains(line, " FAIL ") {
			it.refused = line
		}
		if strings.Contains(line, " MARKREAD #state ") || strings.Contains(line, "FAIL MARKREAD ") {
			it.answered(n)
			return true
		}
	}
}

// markers reads the account's read marker and the last message before it.
func markers(s *stateServer, _ *client) (func(int) bool, error) {
	marks, err := os.ReadFile(filepath.Join(s.data, "marks", "ann"))
	if os.IsNotExist(err) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	l, err := log.Open(filepath.Join(s.data, "rooms", stateRoom), log.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	var after int64
	for line := range strings.Lines(string(marks)) {
		if rest, is := strings.CutPrefix(line, l.ID()+" * "); is {
			fmt.Sscan(rest, &after)
		}
	}
	lines, err := l.After(max(0, after-64<<10), 1<<20)
	last := 0 // number of the last message before the marker
	for _, line := range lines {
		if _, text, is := strings.Cut(strings.TrimSpace(string(line.Plain())), " PRIVMSG #state :said "); is && line.Offset() < after {
			last, _ = strconv.Atoi(text)
		}
	}
	return func(n int) bool { return n == last }, err
}

// register creates an account on a separate connection.
func register(s *stateServer, it *item) bool {
	c, err := dial(s.addr, "new")
	if err != nil {
		return false
	}
	defer c.conn.Close()
	n := it.next()
	if c.logIn(fmt.Sprintf("new%d", n), "") != nil || c.send(fmt.Sprintf("REGISTER new%d * %s", n, statePassword)) != nil {
		return false
	}
	for {
		line, err := c.line()
		if err != nil {
			return false
		}
		if strings.Contains(line, " FAIL ") {
			it.refused = line
		}
		if strings.Contains(line, " FAIL ") || strings.Contains(line, "REGISTER SUCCESS") {
			it.answered(n)
			return true
		}
	}
}

func accounts(s *stateServer, _ *client) (func(int) bool, error) {
	store, err := account.Open(s.data, account.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	known := map[string]bool{}
	for _, a := range store.Accounts() {
		known[a.Name] = true
	}
	return func(n int) bool {
		for i := 1; i <= n; i++ {
			if !known[fmt.Sprintf("new%d", i)] {
				return false
			}
		}
		return true
	}, nil
}

func content(n int) string { return fmt.Sprintf("this is file number %d\n", n) }

func upload(s *stateServer, it *item) bool {
	n := it.next()
	r, err := http.NewRequest(http.MethodPost, "http://"+s.web+"/upload", strings.NewReader(content(n)))
	if err != nil {
		panic(err)
	}
	r.Close = true
	r.SetBasicAuth("ann", statePassword)
	r.Header.Set("Content-Disposition", `attachment; filename="file.txt"`)
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		it.refused = answer.Status
	}
	it.answered(n)
	return true
}

func uploads(s *stateServer, _ *client) (func(int) bool, error) {
	return func(n int) bool {
		for i := max(1, n-100); i <= n; i++ { // older ones were checked in earlier rounds
			sum := sha256.Sum256([]byte(content(i)))
			hash := hex.EncodeToString(sum[:])
			path := filepath.Join(s.data, "uploads", hash[:2], hash)
			text, err := os.ReadFile(path)
			record, missing := os.ReadFile(path + ".info")
			if err != nil || missing != nil || string(text) != content(i) || !bytes.Contains(record, []byte(" ann file.txt")) {
				return false
			}
		}
		return true
	}, nil
}
