package events

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a stream. What has neither Name nor Data is no event for a page: it sets ID
// and Retry.
type Event struct {
	// by which a client that comes again says what it saw last; it may hold neither line ends nor
	// NUL. Empty: the ID stays
	ID string
	// the type that a page listens for; it may hold no line ends. Empty: "message"
	Name string
	Data string // text; its line ends, of whatever kind, arrive as LF
	// how long a client waits before it comes again, in whole milliseconds; 0: as before
	Retry time.Duration
}

var (
	errID    = errors.New("events: the ID of an event has a line end or a NUL in it")
	errName  = errors.New("events: the name of an event has a line end in it")
	errRetry = errors.New("events: the retry of an event is negative")
)

// lineEnds are all of what ends a line of a stream.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Append appends the event as it is sent (section 9.2.5 of the HTML standard). What is not UTF-8 is
// replaced.
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

// field appends a line. The space is the one that a client takes off.
func field(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, strings.ToValidUTF8(value, "\uFFFD")...)
	return append(b, '\n')
}
