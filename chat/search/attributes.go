package search

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
)

// AttributeError is what is wrong with the attributes of a SEARCH.
type AttributeError struct {
	Key  string // of the attribute; "" for all of them together
	Text string // a sentence
}

// Error implements error.
func (e *AttributeError) Error() string {
	if e.Key == "" {
		return e.Text
	}
	return e.Key + "= " + e.Text
}

// ParseAttributes reads the attributes of IRC's SEARCH: KEY=VALUE with ; between them, values
// escaped as those of tags are. It knows in, from, after, before (times as in the tag time, both
// included, or days as in Parse), text (a query as in Parse, which what the other attributes say
// takes the place of) and limit; 0 is none. Others are passed over. Errors are of *AttributeError.
func ParseAttributes(s string) (q Query, limit int, err error) {
	if len(s) > maxQuery || !utf8.ValidString(s) {
		return q, 0, &AttributeError{"", "there are more than " + strconv.Itoa(maxQuery) + " bytes, or they are not UTF-8"}
	}
	all := map[string]string{}
	for attribute := range strings.SplitSeq(s, ";") {
		key, value, _ := strings.Cut(attribute, "=")
		all[strings.ToLower(key)] = ircmsg.UnescapeTagValue(value)
	}
	if text := all["text"]; strings.TrimSpace(text) != "" {
		if q, err = parse(text); err == nil {
			err = q.count()
		}
		if err != nil {
			return q, 0, &AttributeError{"text", strings.TrimPrefix(err.Error(), ErrQuery.Error()+": ")}
		}
	}
	for key, field := range map[string]*string{"in": &q.In, "from": &q.From} {
		if value := all[key]; value != "" {
			*field = value
		}
	}
	for _, key := range []string{"after", "before", "limit"} {
		if value, given := all[key]; given {
			if err := q.bound(key, value, &limit); err != nil {
				return q, 0, err
			}
		}
	}
	if err := q.check(); err != nil {
		return q, 0, &AttributeError{"", "nothing is asked for: text=, from=, in=, after= or before= is needed"}
	}
	return q, limit, nil
}

// bound takes an attribute that is a time or a number.
func (q *Query) bound(key, value string, limit *int) error {
	if key == "limit" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return &AttributeError{key, "is no number"}
		}
		*limit = n
		return nil
	}
	at, err := time.Parse(irc.TimeFormat, value)
	if err == nil && key == "before" {
		at = at.Add(time.Millisecond) // the time itself is in
	}
	if err != nil {
		at, err = day(key, value)
	}
	if err != nil {
		return &AttributeError{key, "is no time: want " + irc.TimeFormat}
	}
	if key == "after" {
		q.After = at
	} else {
		q.Before = at
	}
	return nil
}
