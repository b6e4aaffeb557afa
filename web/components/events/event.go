package events

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a stream. An event with neither Name nor Data is not delivered to the page:
// it sets ID and Retry.
type Event struct {
	// A reconnecting client reports the ID that it saw last. It must not contain line ends or NUL.
	// Empty: the ID stays.
	ID string
	// The type that a page listens for. It must not contain line ends. Empty: "message".
	Name string
	Data string // text; line ends of any kind arrive as LF
	// How long a client waits before it reconnects, in whole milliseconds. 0: unchanged.
	Retry time.Duration
}

var (
	errID    = errors.New("events: the ID of an event has a line end or a NUL in it")
	errName  = errors.New("events: the name of an event has a line end in it")
	errRetry = errors.New("events: the retry of an event is negative")
)

// lineEnds normalizes the line ends of a stream.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Append appends the event in wire format (section 9.2.5 of the HTML standard). Bytes that are not
// UTF-8 become U+FFFD.
func (e Event) Append(b []byte) ([]byte, error) {
	switch {
	case strings.ContainsAny(e.ID, "\r\n\x00"):
		return b, errID
	case strings.ContainsAny(e.Name, "\r\n"):
		return b, errName
	case e.Retry < 0:
		return b, errRetry
	}
	if e.ID != "" {
		b = field(b, "id", e.ID)
	}
	if e.Name != "" {
		b = field(b, "event", e.Name)
	}
	if e.Retry > 0 {
		b = field(b, "retry", strconv.FormatInt(e.Retry.Milliseconds(), 10))
	}
	if e.Data != "" || e.Name != "" {
		for line := range strings.SplitSeq(lineEnds.Replace(e.Data), "\n") {
			b = field(b, "data", line)
		}
	}
	return append(b, '\n'), nil
}

// field appends a line. Clients strip the space.
func field(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, strings.ToValidUTF8(value, "\uFFFD")...)
	return append(b, '\n')
}
