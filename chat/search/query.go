package search

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ErrQuery means that a query is invalid; the error that wraps it says why.
var ErrQuery = errors.New("invalid query")

const (
	maxQuery = 1024 // bytes
	maxTerms = 32
)

// term is a word or a phrase.
type term struct {
	text     string // words separated by blanks
	prefix   bool   // matches words that start with the last word
	excluded bool
}

// Query is a parsed search query.
type Query struct {
	From, In      string    // nick or account; name of a room or conversation; "" matches any
	After, Before time.Time // After is inclusive, Before exclusive; zero means unbounded
	terms         []term
}

// Parse parses a query from a search box. Days are in UTC.
func Parse(s string) (Query, error) {
	q, err := parse(s)
	if err == nil {
		err = q.validate()
	}
	return q, err
}

// parse is Parse without the check that the query asks for something.
func parse(s string) (Query, error) {
	var q Query
	if len(s) > maxQuery || !utf8.ValidString(s) {
		return q, fmt.Errorf("%w: it is longer than %d bytes or not UTF-8", ErrQuery, maxQuery)
	}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var word string
		var quoted bool
		t := term{}
		if rest, ok := strings.CutPrefix(s, "-"); ok {
			t.excluded, s = true, rest
		}
		word, quoted, s = cutWord(s)
		if !quoted && !t.excluded {
			if key, value, ok := strings.Cut(word, ":"); ok {
				if known, err := q.parseFilter(key, value); err != nil {
					return q, err
				} else if known {
					continue
				}
			}
		}
		if !quoted {
			word, t.prefix = strings.CutSuffix(word, "*")
		}
		t.text = strings.Join(strings.FieldsFunc(word, func(r rune) bool { return !isWord(r) }), " ")
		if t.text != "" {
			q.terms = append(q.terms, t)
		}
	}
	return q, nil
}

// isWord reports whether r is part of a word, approximately as FTS5's tokenizer decides.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || unicode.Is(unicode.Co, r)
}

// cutWord cuts a word or a "phrase" off s. An unclosed quote extends to the end.
func cutWord(s string) (word string, quoted bool, rest string) {
	if inner, ok := strings.CutPrefix(s, `"`); ok {
		word, rest, _ = strings.Cut(inner, `"`)
		return word, true, rest
	}
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		i = len(s)
	}
	return s[:i], false, s[i:]
}

// parseFilter parses a key:value filter. known is false if the key is not a filter.
func (q *Query) parseFilter(key, value string) (known bool, err error) {
	switch strings.ToLower(key) {
	case "from":
		q.From = value
	case "in":
		q.In = value
	case "after":
		q.After, err = parseDay(key, value)
	case "before":
		q.Before, err = parseDay(key, value)
	default:
		return false, nil
	}
	if value == "" {
		return true, fmt.Errorf("%w: %s: a value must follow the colon", ErrQuery, key)
	}
	return true, err
}

func parseDay(key, value string) (time.Time, error) {
	for _, form := range []string{"2006-01-02", time.RFC3339} {
		if at, err := time.Parse(form, value); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %s:%s is not a day: want %s:2026-11-21", ErrQuery, key, value, key)
}

// validate rejects a query without a positive condition or with too many terms.
func (q *Query) validate() error {
	wanted := q.From != "" || q.In != "" || !q.After.IsZero() || !q.Before.IsZero()
	for _, t := range q.terms {
		wanted = wanted || !t.excluded
	}
	if !wanted {
		return fmt.Errorf("%w: the query needs a word, a \"phrase\", from:nick, in:#room, after:2026-11-01 or before:2026-11-21", ErrQuery)
	}
	return q.checkTermCount()
}

func (q *Query) checkTermCount() error {
	if len(q.terms) > maxTerms {
		return fmt.Errorf("%w: the query has more than %d words", ErrQuery, maxTerms)
	}
	return nil
}

// matchExpressions returns the query as FTS5 expressions: wanted must match and excluded must not;
// "" means no condition. Every word is quoted, so that no input is interpreted as an operator.
func (q *Query) matchExpressions() (wanted, excluded string) {
	for _, t := range q.terms {
		s := `"` + t.text + `"`
		if t.prefix {
			s += "*"
		}
		switch {
		case !t.excluded:
			wanted = strings.TrimPrefix(wanted+" AND "+s, " AND ")
		default:
			excluded = strings.TrimPrefix(excluded+" OR "+s, " OR ")
		}
	}
	return wanted, excluded
}
