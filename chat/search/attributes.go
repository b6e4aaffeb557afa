package search

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
)

// AttributeError reports an invalid attribute of a SEARCH.
type AttributeError struct {
	Key  string // name of the attribute; "" if the error concerns all of them
	Text string // the reason, as a sentence
}

// Error implements error.
func (e *AttributeError) Error() string {
	if e.Key == "" {
		return e.Text
	}
	return e.Key + "= " + e.Text
}

// ParseAttributes parses the attributes of IRC's SEARCH command: KEY=VALUE separated by semicolons,
// with values escaped as in message tags. The attributes are in, from, after, before, text and
// limit; unknown ones are ignored. Times are in the format of the server-time tag, both inclusive,
// or days as in Parse. The text is a query as in Parse; the other attributes override the filters
// in it. A limit of 0 means none was given. Errors are of type *AttributeError.
func ParseAttributes(s string) (q Query, limit int, err error) {
	if len(s) > maxQuery || !utf8.ValidString(s) {
		return q, 0, &AttributeError{"", "the attributes are longer than " + strconv.Itoa(maxQuery) + " bytes or not UTF-8"}
	}
	all := map[string]string{}
	for attribute := range strings.SplitSeq(s, ";") {
		key, value, _ := strings.Cut(attribute, "=")
		all[strings.ToLower(key)] = ircmsg.UnescapeTagValue(value)
	}
	if text := all["text"]; strings.TrimSpace(text) != "" {
		if q, err = parse(text); err == nil {
			err = q.checkTermCount()
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
			if err := q.parseBound(key, value, &limit); err != nil {
				return q, 0, err
			}
		}
	}
	if err := q.validate(); err != nil {
		return q, 0, &AttributeError{"", "the search is empty: give text=, from=, in=, after= or before="}
	}
	return q, limit, nil
}

// parseBound parses an attribute that is a time or a number.
func (q *Query) parseBound(key, value string, limit *int) error {
	if key == "limit" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return &AttributeError{key, "is not a number"}
		}
		*limit = n
		return nil
	}
	at, err := time.Parse(irc.TimeFormat, value)
	if err == nil && key == "before" {
		at = at.Add(time.Millisecond) // the bound is inclusive
	}
	if err != nil {
		at, err = parseDay(key, value)
	}
	if err != nil {
		return &AttributeError{key, "is not a time: want " + irc.TimeFormat}
	}
	if key == "after" {
		q.After = at
	} else {
		q.Before = at
	}
	return nil
}
