package search

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ErrQuery means that a query can't be understood; the error around it says why.
var ErrQuery = errors.New("not a query")

const (
	maxQuery = 1024 // bytes
	maxTerms = 32
)

// term is a word or phrase.
type term struct {
	text   string // words with blanks between them
	prefix bool   // the last word may go on
	not    bool
}

// Query is a parsed query.
type Query struct {
	From, In      string    // a nick or account; a room's or conversation's name; "" any
	After, Before time.Time // from After on, until before Before; zero any
	terms         []term
}

// Parse reads a query as people type it. Days are UTC.
func Parse(s string) (Query, error) {
	q, err := parse(s)
	if err == nil {
		err = q.check()
	}
	return q, err
}

// parse reads a query that may ask for nothing.
func parse(s string) (Query, error) {
	var q Query
	if len(s) > maxQuery || !utf8.ValidString(s) {
		return q, fmt.Errorf("%w: it has more than %d bytes, or is not UTF-8", ErrQuery, maxQuery)
	}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var word string
		var quoted bool
		t := term{}
		if rest, ok := strings.CutPrefix(s, "-"); ok {
			t.not, s = true, rest
		}
		word, quoted, s = cutWord(s)
		if !quoted && !t.not {
			if key, value, ok := strings.Cut(word, ":"); ok {
				if known, err := q.filter(key, value); err != nil {
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

// isWord says whether r is of a word, and not between words, roughly as the index has it.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || unicode.Is(unicode.Co, r)
}

// cutWord takes a word or a "phrase" off s. A quote that is not closed goes to the end.
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

// filter takes key:value. known: it is one of ours.
func (q *Query) filter(key, value string) (known bool, err error) {
	switch strings.ToLower(key) {
	case "from":
		q.From = value
	case "in":
		q.In = value
	case "after":
		q.After, err = day(key, value)
	case "before":
		q.Before, err = day(key, value)
	default:
		return false, nil
	}
	if value == "" {
		return true, fmt.Errorf("%w: %s: needs something behind the colon", ErrQuery, key)
	}
	return true, err
}

func day(key, value string) (time.Time, error) {
	for _, form := range []string{"2006-01-02", time.RFC3339} {
		if at, err := time.Parse(form, value); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %s:%s is no day: want %s:2026-11-21", ErrQuery, key, value, key)
}

// check refuses what asks for nothing, or too much.
func (q *Query) check() error {
	wanted := q.From != "" || q.In != "" || !q.After.IsZero() || !q.Before.IsZero()
	for _, t := range q.terms {
		wanted = wanted || !t.not
	}
	if !wanted {
		return fmt.Errorf("%w: it needs a word, a \"phrase\", from:nick, in:#room, after:2026-11-01 or before:2026-11-21", ErrQuery)
	}
	return q.count()
}

func (q *Query) count() error {
	if len(q.terms) > maxTerms {
		return fmt.Errorf("%w: it has more than %d words", ErrQuery, maxTerms)
	}
	return nil
}

// match is the query in FTS5's language; wants and not are what has to match and what must not, ""
// nothing. Everything is quoted, so nothing that was typed is taken for an operator.
func (q *Query) match() (wants, not string) {
	for _, t := range q.terms {
		s := `"` + t.text + `"`
		if t.prefix {
			s += "*"
		}
		switch {
		case !t.not:
			wants = strings.TrimPrefix(wants+" AND "+s, " AND ")
		default:
			not = strings.TrimPrefix(not+" OR "+s, " OR ")
		}
	}
	return wants, not
}
