//go:build linux

package chattest

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

// client is one end of a conversation. Its methods with an error are for goroutines, those with a
// test for the test's own.
type client struct {
	name string
	conn net.Conn
	r    *bufio.Reader
	// nothing is waited for any longer, however much comes; zero: as long as something comes within
	// patience
	by time.Time
}

func dial(addr, name string) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &client{name: name, conn: conn, r: bufio.NewReaderSize(conn, 32<<10)}, nil
}

// client connects, and is gone with the test.
func (s *server) client(t *testing.T, name string) *client {
	t.Helper()
	c, err := dial(s.addr, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conn.Close() })
	return c
}

// guest is a client that has come in by this nick.
func (s *server) guest(t *testing.T, nick string, caps ...string) *client {
	t.Helper()
	c := s.client(t, nick)
	c.must(t, c.comeIn(nick, "", caps...))
	return c
}

// comeIn registers, by "NAME:PASSWORD" or as a guest, and passes over what it is welcomed with.
func (c *client) comeIn(nick, pass string, caps ...string) error {
	lines := []string{"NICK " + nick, "USER " + nick + " 0 * :" + nick}
	if pass != "" {
		lines = append([]string{"PASS " + pass}, lines...)
	}
	if len(caps) > 0 {
		lines = append(append([]string{"CAP REQ :" + strings.Join(caps, " ")}, lines...), "CAP END")
	}
	if err := c.say(lines...); err != nil {
		return err
	}
	return c.welcomed()
}

// welcomed reads up to the end of the welcome, and whatever is said with it.
func (c *client) welcomed() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if words := strings.Fields(line); len(words) > 1 && (words[1] == "376" || words[1] == "422") {
			_, err := c.settled()
			return err
		}
		if strings.HasPrefix(line, "ERROR ") {
			return errors.New(line)
		}
	}
}

// join joins a room, and passes over what is told with it.
func (c *client) join(t *testing.T, room string) {
	t.Helper()
	c.must(t, c.say("JOIN "+room))
	c.until(t, " 366 ")
}

func (c *client) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

func (c *client) say(lines ...string) error { return c.write(strings.Join(lines, "\r\n") + "\r\n") }

func (c *client) write(text string) error {
	c.conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.conn.Write([]byte(text))
	return err
}

// line is the next line, without its end.
func (c *client) line() (string, error) {
	end := time.Now().Add(patience)
	if !c.by.IsZero() && c.by.Before(end) {
		end = c.by
	}
	c.conn.SetReadDeadline(end)
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s hears no more: %w", c.name, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// until reads up to the first line that has a text in it, and returns that.
func (c *client) until(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := c.line()
		if err != nil {
			t.Fatalf("waiting for %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// settled waits until all that the client said was handled, and returns what it was told meanwhile.
func (c *client) settled() (lines []string, err error) {
	if err := c.say("PING :settled?"); err != nil {
		return nil, err
	}
	for {
		line, err := c.line()
		if err != nil {
			return lines, err
		}
		if strings.Contains(line, " PONG ") && strings.HasSuffix(line, "settled?") {
			return lines, nil
		}
		lines = append(lines, line)
	}
}

var lsWords = regexp.MustCompile(` LS (\* )?:(.*)$`)

// features finds out which capabilities, commands and room modes a server has.
func (c *client) features() (map[string]bool, error) {
	has := map[string]bool{}
	if err := c.say("CAP LS 302"); err != nil {
		return nil, err
	}
	for more := true; more; {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		if m := lsWords.FindStringSubmatch(line); m != nil {
			for _, word := range strings.Fields(m[2]) {
				name, _, _ := strings.Cut(word, "=")
				has[name] = true
			}
			more = m[1] != ""
		}
	}
	if err := c.say("NICK asker", "USER asker 0 * :asker", "CAP END"); err != nil {
		return nil, err
	}
	for line := ""; !strings.Contains(line, " 004 "); {
		var err error
		if line, err = c.line(); err != nil {
			return nil, err
		}
		if words := strings.Fields(line); len(words) > 6 && words[1] == "004" {
			for _, mode := range words[6] {
				has["+"+string(mode)] = true
			}
		}
	}
	return has, c.commands(has)
}

// commands finds out which of some commands the server knows.
func (c *client) commands(has map[string]bool) error {
	if err := c.welcomed(); err != nil {
		return err
	}
	for _, command := range []string{"MODE", "KICK", "INVITE", "WHOIS", "AWAY", "MONITOR", "KILL", "METADATA"} {
		if err := c.say(command); err != nil {
			return err
		}
		lines, err := c.settled()
		if err != nil {
			return err
		}
		has[command] = !strings.Contains(strings.Join(lines, "\n"), " 421 ")
	}
	return nil
}

// plain is the answer of SASL PLAIN.
func plain(login, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + login + "\x00" + password))
}
