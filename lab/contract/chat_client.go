package contract

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"
)

// talker is one connection to a chat server.
type talker struct {
	*client
	in   *bufio.Reader
	nick string
}

// told is a line of the server's, taken apart as far as the checks need it.
type told struct {
	line    string
	source  string // the nick, or the server's name
	command string
	params  []string
}

// understand takes a line apart.
func understand(line string) (t told) {
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

func (t told) param(i int) string {
	if i >= 0 && i < len(t.params) {
		return t.params[i]
	}
	return ""
}

func (t told) last() string { return t.param(len(t.params) - 1) }

// fresh is a nick, or with # before it a room, that the server has not seen.
func (b *bench) fresh() string {
	b.named++
	return fmt.Sprintf("c%d", b.named)
}

// arrive connects without a word.
func (b *bench) arrive() (*talker, error) {
	c, err := b.dial(0)
	if err != nil {
		return nil, err
	}
	return &talker{client: c, in: bufio.NewReaderSize(c, 64<<10), nick: b.fresh()}, nil
}

// introduce connects and says who it is.
func (b *bench) introduce() (*talker, error) {
	t, err := b.arrive()
	if err != nil {
		return nil, err
	}
	return t, t.say("NICK %s\r\nUSER %s 0 * :%s\r\n", t.nick, t.nick, t.nick)
}

// register connects and hears that it is welcome.
func (b *bench) register() (*talker, error) {
	t, err := b.introduce()
	if err != nil {
		return nil, err
	}
	return t, t.welcomed()
}

// welcomed hears the end of its registration.
func (t *talker) welcomed() error {
	if _, err := t.until("the number 001 after NICK and USER", "001"); err != nil {
		return err
	}
	_, err := t.until("the end of the message of the day, 376 or 422", "376", "422")
	return err
}

// join goes into a room.
func (t *talker) join(room string) error {
	if err := t.say("JOIN %s\r\n", room); err != nil {
		return err
	}
	_, err := t.until("the end of the names, 366, after JOIN", "366")
	return err
}

// meet is n talkers in a room. They come together: there are servers that look once a second who is
// to be welcomed. What follows has all the time that the bench allows.
func (b *bench) meet(n int, room string) (all []*talker, err error) {
	for range n {
		t, err := b.introduce()
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, t := range all {
		if err := t.welcomed(); err != nil {
			return nil, err
		}
		if err := t.join(room); err != nil {
			return nil, err
		}
	}
	for _, t := range all {
		if err := t.SetDeadline(time.Now().Add(b.patience)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// say writes text as it is.
func (t *talker) say(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if _, err := t.Write([]byte(text)); err != nil {
		return fmt.Errorf("%s: expected the server to take %.40q: %w", t.nick, text, plain(err))
	}
	return nil
}

// hear reads the next line, answering a PING in passing.
func (t *talker) hear() (told, error) {
	for {
		line, err := t.in.ReadString('\n')
		if err != nil {
			return told{}, plain(err)
		}
		got := understand(line)
		if got.command != "PING" {
			return got, nil
		}
		if err := t.say("PONG :%s\r\n", got.last()); err != nil {
			return told{}, err
		}
	}
}

// until reads past everything up to a line with one of the commands. What a complaint says is an
// error.
func (t *talker) until(what string, commands ...string) (told, error) {
	for {
		got, err := t.hear()
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

// message reads past everything that is no message.
func (t *talker) message() (told, error) {
	for {
		got, err := t.hear()
		if err != nil || got.command == "PRIVMSG" {
			return got, err
		}
	}
}

// hears expects these texts in a room from one talker, one after the other.
func (t *talker) hears(from *talker, room string, texts ...string) error {
	for i, want := range texts {
		got, err := t.message()
		if err != nil {
			return fmt.Errorf("%s: expected message %d of %d of %s: %w", t.nick, i+1, len(texts), from.nick, err)
		}
		if got.source != from.nick || got.param(0) != room || got.last() != want {
			return fmt.Errorf("%s: expected message %d of %d, %.60q, from %s in %s, saw %.120q", t.nick, i+1, len(texts), want, from.nick, room, got.line)
		}
	}
	return nil
}

// quiet expects no message before the answer to a PING.
func (t *talker) quiet() error {
	if err := t.say("PING :quiet\r\n"); err != nil {
		return err
	}
	for {
		got, err := t.hear()
		switch {
		case err != nil:
			return fmt.Errorf("%s: expected the answer to PING: %w", t.nick, err)
		case got.command == "PRIVMSG":
			return fmt.Errorf("%s: expected to hear nothing, saw %.120q", t.nick, got.line)
		case got.command == "PONG" && got.last() == "quiet":
			return nil
		}
	}
}
