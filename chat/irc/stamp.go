package irc

import (
	"bytes"
	"time"
)

// StampText inserts the time of an old message before its text, for a client that lacks
// server-time: "[14:05:12] text", or "[2006-01-02 14:05:12] text" where the message is not of the
// day of now. Times are UTC. Body is a line without tags, CR LF included. A line that carries no
// text, and a CTCP message other than ACTION, are returned unchanged.
func StampText(body []byte, at, now time.Time) []byte {
	start, ok := textStart(body)
	if !ok {
		return body
	}
	layout := "[15:04:05] "
	if at, now = at.UTC(), now.UTC(); at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		layout = "[2006-01-02 15:04:05] "
	}
	stamped := at.AppendFormat(bytes.Clone(body[:start]), layout)
	return append(stamped, body[start:]...)
}

var ctcpAction = []byte("\x01ACTION ")

// textStart returns where the text of a line ":source COMMAND target :text" starts, behind
// "\x01ACTION " if the text is a CTCP ACTION. ok is false if the line is not a message with text.
func textStart(body []byte) (start int, ok bool) {
	words := bytes.SplitN(body, []byte{' '}, 4)
	if len(words) < 4 || words[3][0] != ':' || string(words[1]) != "PRIVMSG" && string(words[1]) != "NOTICE" {
		return 0, false
	}
	text := words[3][1:]
	start = len(body) - len(text)
	switch {
	case bytes.HasPrefix(text, ctcpAction):
		return start + len(ctcpAction), true
	case text[0] == ctcpAction[0]:
		return 0, false
	}
	return start, true
}
