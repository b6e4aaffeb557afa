package chat

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"

	"weir/lab/contract"
)

// client is one connection to a chat server.
type client struct {
	*net.TCPConn
	in   *bufio.Reader
	nick string
}

// ircLine is a line from the server, parsed as far as the checks need it.
type ircLine struct {
	line    string // the whole line without CR and LF
	source  string // a nick or a server
	command string
	target  string // the first parameter
	text    string // the last parameter
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
	words := strings.Fields(middle)
	if found {
		words = append(words, last)
	}
	if len(words) > 0 {
		t.command = words[0]
	}
	if len(words) > 1 {
		t.target, t.text = words[1], words[len(words)-1]
	}
	return t
}

// newName returns a nick, or with a prefix of # a room, that the server has not seen.
func (b *bench) newName() string {
	b.namesUsed++
	return fmt.Sprintf("c%d", b.namesUsed)
}

// connect connects and sends nothing.
func (b *bench) connect() *client {
	c := b.Dial()
	return &client{TCPConn: c, in: bufio.NewReaderSize(c, 64<<10), nick: b.newName()}
}

// introduction returns the lines of a registration.
func (t *client) introduction() string {
	return fmt.Sprintf("NICK %s\r\nUSER %s 0 * :%s\r\n", t.nick, t.nick, t.nick)
}

// register connects and completes the registration.
func (b *bench) register() *client {
	t := b.connect()
	t.write(t.introduction())
	t.expectWelcome()
	return t
}

// expectWelcome reads the end of the registration.
func (t *client) expectWelcome() {
	t.readUntil("the number 001 after NICK and USER", "001")
	t.readUntil("the end of the message of the day, 376 or 422", "376", "422")
}

// joinMembers returns n clients in a new room. All connect before the first is awaited, because
// some servers accept new clients only once a second. Then every deadline is reset.
func (b *bench) joinMembers(n int) (all []*client, room string) {
	room = "#" + b.newName()
	for range n {
		t := b.connect()
		t.write(t.introduction())
		all = append(all, t)
	}
	for _, t := range all {
		t.expectWelcome()
		t.write("JOIN " + room + "\r\n")
		t.readUntil("the end of the names, 366, after JOIN", "366")
	}
	for _, t := range all {
		b.Extend(t)
	}
	return all, room
}

// write writes text as it is.
func (t *client) write(text string) {
	contract.During(t.nick, func() { contract.WriteText(t.TCPConn, text) })
}

// writeSingly writes text in single bytes.
func (t *client) writeSingly(text string) {
	contract.During(t.nick, func() { contract.WriteSingly(t.TCPConn, text) })
}

// privmsg returns the line that sends a text to a room.
func privmsg(room, text string) string { return "PRIVMSG " + room + " :" + text + "\r\n" }

// say sends a text to a room.
func (t *client) say(room, text string) { t.write(privmsg(room, text)) }

// readLine reads the next line, and answers PINGs.
func (t *client) readLine() (ircLine, error) {
	for {
		line, err := t.in.ReadString('\n')
		if err != nil {
			return ircLine{}, contract.DescribeError(err)
		}
		got := parseLine(line)
		if got.command != "PING" {
			return got, nil
		}
		if err := contract.Try(func() { t.write("PONG :" + got.text + "\r\n") }); err != nil {
			return ircLine{}, err
		}
	}
}

// next reads the next line, where what is expected.
func (t *client) next(what string) ircLine {
	got, err := t.readLine()
	contract.Expect(err == nil, "%s: expected %s: %w", t.nick, what, err)
	return got
}

// readUntil reads up to a line with one of the commands. An ERROR or a 4xx numeric is an error.
func (t *client) readUntil(what string, commands ...string) {
	for {
		got := t.next(what)
		if slices.Contains(commands, got.command) {
			return
		}
		refused := got.command == "ERROR" || len(got.command) == 3 && got.command[0] == '4'
		contract.Expect(!refused, "%s: expected %s, saw %q", t.nick, what, got.line)
	}
}

// nextMessage reads up to the next PRIVMSG, where what is expected.
func (t *client) nextMessage(what string) (got ircLine) {
	for got.command != "PRIVMSG" {
		got = t.next(what)
	}
	return got
}

// expectMessages expects these texts in a room from one client, in order.
func (t *client) expectMessages(from *client, room string, texts ...string) {
	for i, want := range texts {
		which := fmt.Sprintf("message %d of %d", i+1, len(texts))
		got := t.nextMessage(which + " of " + from.nick)
		contract.Expect(got.source == from.nick && got.target == room && got.text == want,
			"%s: expected %s, %.60q, from %s in %s, saw %.120q", t.nick, which, want, from.nick, room, got.line)
	}
}

// expectSilence expects no message before the answer to a PING.
func (t *client) expectSilence() {
	t.write("PING :quiet\r\n")
	for {
		got := t.next("the answer to PING")
		contract.Expect(got.command != "PRIVMSG", "%s: expected no message, saw %.120q", t.nick, got.line)
		if got.command == "PONG" && got.text == "quiet" {
			return
		}
	}
}
