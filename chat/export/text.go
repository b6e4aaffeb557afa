package export

import (
	"bytes"
	"io"
	"strings"
	"unicode"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/log"
)

// writeTitle writes the heading of a room.
func writeTitle(w io.Writer, name string, further bool) {
	if further {
		_, _ = io.WriteString(w, "\n") // Flush returns the error of a bufio.Writer
	}
	_, _ = io.WriteString(w, "== "+printable(name)+" ==\n")
}

// appendText appends a message as text for people. Other lines, such as reactions, append nothing.
func appendText(b *bytes.Buffer, line log.Line) {
	m, err := ircmsg.ParseLine(string(line.Plain()))
	if err != nil || len(m.Params) == 0 {
		return
	}
	nick, _, _ := strings.Cut(m.Source, "!")
	text := ""
	if len(m.Params) > 1 {
		text = m.Params[1]
	}
	if line.Redacted() {
		text = "[redacted]"
	}
	switch action, ok := strings.CutPrefix(text, "\x01ACTION "); {
	case m.Command == "PRIVMSG" && ok:
		text = "* " + nick + " " + action
	case m.Command == "PRIVMSG":
		text = "<" + nick + "> " + text
	case m.Command == "NOTICE":
		text = "-" + nick + "- " + text
	case m.Command == "TOPIC":
		text = "*** " + nick + " set the topic: " + text
	default:
		return
	}
	b.WriteString(line.Time().Format("2006-01-02 15:04:05 ") + printable(text) + "\n")
}

// printable removes control characters, which could move a terminal's cursor or change its colours.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}
