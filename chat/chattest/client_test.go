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

// client is an IRC client on a TCP connection. Methods that return an error may be called from any
// goroutine, those with a *testing.T only from the test's own.
type client struct {
	name string
	conn net.Conn
	r    *bufio.Reader
	// Deadline for all reads. Zero means that each read has its own deadline, after waitLimit.
	deadline time.Time
}

func dial(addr, name string) (*client, error) { return dialWith(net.Dialer{}, addr, name) }

func dialWith(d net.Dialer, addr, name string) (*client, error) {
	d.Timeout = waitLimit
	conn, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{name: name, conn: conn, r: bufio.NewReaderSize(conn, 32<<10)}, nil
}

// client connects, and closes the connection at the end of the test.
func (s *server) client(t *testing.T, name string) *client {
	t.Helper()
	c, err := dial(s.addr, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conn.Close() })
	return c
}

// guest is a client that has registered with this nick.
func (s *server) guest(t *testing.T, nick string, caps ...string) *client {
	t.Helper()
	c := s.client(t, nick)
	c.must(t, c.logIn(nick, "", caps...))
	return c
}

// logIn registers, with the server password "NAME:PASSWORD" or as a guest, and discards the
// welcome.
func (c *client) logIn(nick, pass string, caps ...string) error {
	lines := []string{"NICK " + nick, "USER " + nick + " 0 * :" + nick}
	if pass != "" {
		lines = append([]string{"PASS " + pass}, lines...)
	}
	if len(caps) > 0 {
		lines = append(append([]string{"CAP REQ :" + strings.Join(caps, " ")}, lines...), "CAP END")
	}
	if err := c.send(lines...); err != nil {
		return err
	}
	return c.welcomed()
}

// welcomed reads up to the end of the welcome and of everything that follows it.
func (c *client) welcomed() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if words := strings.Fields(line); len(words) > 1 && (words[1] == "376" || words[1] == "422") {
			_, err := c.flush()
			return err
		}
		if strings.HasPrefix(line, "ERROR ") {
			return errors.New(line)
		}
	}
}

// join joins a room and reads up to the end of NAMES.
func (c *client) join(t *testing.T, room string) {
	t.Helper()
	c.must(t, c.send("JOIN "+room))
	c.until(t, " 366 ")
}

func (c *client) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

func (c *client) send(lines ...string) error { return c.write(strings.Join(lines, "\r\n") + "\r\n") }

func (c *client) write(text string) error {
	c.conn.SetWriteDeadline(time.Now().Add(waitLimit))
	_, err := c.conn.Write([]byte(text))
	return err
}

// line returns the next line, without its line end.
func (c *client) line() (string, error) {
	end := time.Now().Add(waitLimit)
	if !c.deadline.IsZero() && c.deadline.Before(end) {
		end = c.deadline
	}
	c.conn.SetReadDeadline(end)
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s received no further line within %v, want one: %w", c.name, waitLimit, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// until reads up to the first line that contains text, and returns it.
func (c *client) until(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := c.line()
		if err != nil {
			t.Fatalf("%s: want a line that contains %q: %v", c.name, text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// flush waits until the server has handled all commands of the client, and returns the lines
// received meanwhile.
func (c *client) flush() (lines []string, err error) {
	if err := c.send("PING :flush?"); err != nil {
		return nil, err
	}
	for {
		line, err := c.line()
		if err != nil {
			return lines, err
		}
		if strings.Contains(line, " PONG ") && strings.HasSuffix(line, "flush?") {
			return lines, nil
		}
		lines = append(lines, line)
	}
}

var lsWords = regexp.MustCompile(` LS (\* )?:(.*)$`)

// features returns the capabilities, commands and room modes that a server supports.
func (c *client) features() (map[string]bool, error) {
	has := map[string]bool{}
	if err := c.send("CAP LS 302"); err != nil {
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
	if err := c.send("NICK asker", "USER asker 0 * :asker", "CAP END"); err != nil {
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

// commands tests which of some commands the server knows.
func (c *client) commands(has map[string]bool) error {
	if err := c.welcomed(); err != nil {
		return err
	}
	for _, command := range []string{"MODE", "KICK", "INVITE", "WHOIS", "AWAY", "MONITOR", "KILL", "METADATA"} {
		if err := c.send(command); err != nil {
			return err
		}
		lines, err := c.flush()
		if err != nil {
			return err
		}
		has[command] = !strings.Contains(strings.Join(lines, "\n"), " 421 ")
	}
	return nil
}

// plain returns the SASL PLAIN response.
func plain(login, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + login + "\x00" + password))
}
