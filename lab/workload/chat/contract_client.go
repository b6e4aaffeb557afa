package chat

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
	"weir/lab/contract"
)

// chatClient is one connection to a chat server.
type chatClient struct {
	*net.TCPConn
	in   *bufio.Reader
	nick string
}

// ircLine is a line from the server, parsed as far as the checks need it.
type ircLine struct {
	line    string
	source  string // the whole line without CR and LF
	command string
	params  []string
}

// parseLine parses a line.
func parseLine(line string) (t ircLine) {
	line = strings.TrimRight(line, "\r\n")
	t.line = line
	if strings.HasPrefix(line, "@") {
		_, line, _ = strings.Cut(line, " ")
	}
	if rest, found := strings.CutPrefix(line, ":"); found {
		t.source, line, _ = strings.Cut(rest, " ")
		t.source, _, _ = strings.Cut(t.source, "!")
	}
	middle, last, found := strings.Cut(line, " :")
	t.params = strings.Fields(middle)
	if found {
		t.params = append(t.params, last)
	}
	if len(t.params) > 0 {
		t.command, t.params = t.params[0], t.params[1:]
	}
	return t
}

func (t ircLine) param(i int) string {
	if i >= 0 && i < len(t.params) {
		return t.params[i]
	}
	return ""
}

func (t ircLine) last() string { return t.param(len(t.params) - 1) }

// newName returns a nick, or with a prefix of # a room, that the server has not seen.
func (b *bench) newName() string {
	b.namesUsed++
	return fmt.Sprintf("c%d", b.namesUsed)
}

// connect connects and sends nothing.
func (b *bench) connect() (*chatClient, error) {
	c, err := b.Dial()
	if err != nil {
		return nil, err
	}
	return &chatClient{TCPConn: c, in: bufio.NewReaderSize(c, 64<<10), nick: b.newName()}, nil
}

// startRegistration connects and sends NICK and USER.
func (b *bench) startRegistration() (*chatClient, error) {
	t, err := b.connect()
	if err != nil {
		return nil, err
	}
	return t, t.writeText("NICK %s\r\nUSER %s 0 * :%s\r\n", t.nick, t.nick, t.nick)
}

// register connects and completes the registration.
func (b *bench) register() (*chatClient, error) {
	t, err := b.startRegistration()
	if err != nil {
		return nil, err
	}
	return t, t.expectWelcome()
}

// expectWelcome reads the end of the registration.
func (t *chatClient) expectWelcome() error {
	if _, err := t.readUntil("the number 001 after NICK and USER", "001"); err != nil {
		return err
	}
	_, err := t.readUntil("the end of the message of the day, 376 or 422", "376", "422")
	return err
}

// join joins a room.
func (t *chatClient) join(room string) error {
	if err := t.writeText("JOIN %s\r\n", room); err != nil {
		return err
	}
	_, err := t.readUntil("the end of the names, 366, after JOIN", "366")
	return err
}

// joinMembers returns n clients in a room. All connect before the first is awaited, because some
// servers accept new clients only once a second. Then every deadline is reset.
func (b *bench) joinMembers(n int, room string) (all []*chatClient, err error) {
	for range n {
		t, err := b.startRegistration()
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, t := range all {
		if err := t.expectWelcome(); err != nil {
			return nil, err
		}
		if err := t.join(room); err != nil {
			return nil, err
		}
	}
	for _, t := range all {
		if err := t.SetDeadline(time.Now().Add(b.Timeout)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// writeText writes text as it is.
func (t *chatClient) writeText(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if _, err := t.Write([]byte(text)); err != nil {
		return fmt.Errorf("%s: expected the server to take %.40q: %w", t.nick, text, contract.DescribeError(err))
	}
	return nil
}

// readLine reads the next line, and answers PINGs.
func (t *chatClient) readLine() (ircLine, error) {
	for {
		line, err := t.in.ReadString('\n')
		if err != nil {
			return ircLine{}, contract.DescribeError(err)
		}
		got := parseLine(line)
		if got.command != "PING" {
			return got, nil
		}
		if err := t.writeText("PONG :%s\r\n", got.last()); err != nil {
			return ircLine{}, err
		}
	}
}

// readUntil reads up to a line with one of the commands. An ERROR or a 4xx numeric is an error.
func (t *chatClient) readUntil(what string, commands ...string) (ircLine, error) {
	for {
		got, err := t.readLine()
		switch {
		case err != nil:
			return got, fmt.Errorf("%s: expected %s: %w", t.nick, what, err)
		case slices.Contains(commands, got.command):
			return got, nil
		case got.command == "ERROR" || len(got.command) == 3 && got.command[0] == '4':
			return got, fmt.Errorf("%s: expected %s, saw %q", t.nick, what, got.line)
		}
	}
}

// readMessage reads up to the next PRIVMSG.
func (t *chatClient) readMessage() (ircLine, error) {
	for {
		got, err := t.readLine()
		if err != nil || got.command == "PRIVMSG" {
			return got, err
		}
	}
}

// expectMessages expects these texts in a room from one client, in order.
func (t *chatClient) expectMessages(from *chatClient, room string, texts ...string) error {
	for i, want := range texts {
		got, err := t.readMessage()
		if err != nil {
			return fmt.Errorf("%s: expected message %d of %d of %s: %w", t.nick, i+1, len(texts), from.nick, err)
		}
		if got.source != from.nick || got.param(0) != room || got.last() != want {
			return fmt.Errorf("%s: expected message %d of %d, %.60q, from %s in %s, saw %.120q", t.nick, i+1, len(texts), want, from.nick, room, got.line)
		}
	}
	return nil
}

// expectSilence expects no message before the answer to a PING.
func (t *chatClient) expectSilence() error {
	if err := t.writeText("PING :quiet\r\n"); err != nil {
		return err
	}
	for {
		got, err := t.readLine()
		switch {
		case err != nil:
			return fmt.Errorf("%s: expected the answer to PING: %w", t.nick, err)
		case got.command == "PRIVMSG":
			return fmt.Errorf("%s: expected no message, saw %.120q", t.nick, got.line)
		case got.command == "PONG" && got.last() == "quiet":
			return nil
		}
	}
}
