package irc

import (
	"strconv"
	"strings"
	"time"
)

// TimeFormat is the format of times in tags and parameters (server-time). They are in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Point is a reference into a history: a message, a time, or neither, which is "*".
type Point struct {
	MsgID string
	Time  time.Time
}

// IsZero reports whether the point is "*".
func (p Point) IsZero() bool { return p.MsgID == "" && p.Time.IsZero() }

// ParsePoint parses timestamp=..., msgid=... or *.
func ParsePoint(s string) (Point, bool) {
	if s == "*" {
		return Point{}, true
	}
	kind, value, _ := strings.Cut(s, "=")
	switch kind {
	case "msgid":
		return Point{MsgID: value}, value != ""
	case "timestamp":
		t, err := time.Parse(time.RFC3339Nano, value)
		return Point{Time: t}, err == nil && !t.IsZero()
	}
	return Point{}, false
}

// HistoryRequest is a CHATHISTORY command (https://ircv3.net/specs/extensions/chathistory).
type HistoryRequest struct {
	Kind   string // subcommand: LATEST, BEFORE, AFTER, AROUND, BETWEEN, TARGETS
	Target string // "" for TARGETS
	From   Point
	To     Point // BETWEEN and TARGETS only
	Limit  int
}

// ParseHistory parses the parameters of CHATHISTORY. If they are invalid, it returns the code and
// the text of a FAIL. most is the largest limit.
func ParseHistory(params []string, most int) (r HistoryRequest, code, text string) {
	if len(params) < 1 {
		return r, "NEED_MORE_PARAMS", "Missing parameters"
	}
	r.Kind = strings.ToUpper(params[0])
	rest := params[1:]
	points, named := 1, true
	switch r.Kind {
	case "LATEST", "BEFORE", "AFTER", "AROUND":
	case "BETWEEN":
		points = 2
	case "TARGETS":
		points, named = 2, false
	default:
		return r, "INVALID_PARAMS", "Unknown subcommand"
	}
	if named && len(rest) > 0 {
		r.Target, rest = rest[0], rest[1:]
	}
	if len(rest) < points+1 {
		return r, "NEED_MORE_PARAMS", "Missing parameters"
	}
	ok := [2]bool{true, true}
	r.From, ok[0] = ParsePoint(rest[0])
	if points == 2 {
		r.To, ok[1] = ParsePoint(rest[1])
	}
	n, err := strconv.Atoi(rest[points])
	starless := r.Kind != "LATEST" && (r.From.IsZero() || points == 2 && r.To.IsZero())
	if !ok[0] || !ok[1] || starless || err != nil || n < 0 {
		return r, "INVALID_PARAMS", "Points are timestamp=YYYY-MM-DDThh:mm:ss.sssZ or msgid=ID, and the limit is a number"
	}
	if r.Limit = n; n == 0 || n > most {
		r.Limit = most
	}
	return r, "", ""
}
