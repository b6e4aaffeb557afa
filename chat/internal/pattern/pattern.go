// Package pattern is how scripts of conversations say what a line has to be: in a pattern * stands
// for any text, and {NAME} for a word without space, ; and comma, the same one wherever NAME
// stands. For tests.
//
// # Limitations
//
// A pattern is compiled each time it is used. A line that holds * or {name} itself is matched by a
// pattern that stands for it, not by its own text.
package pattern

import (
	"regexp"
	"strings"
)

// Words are what the names of a script stand for, without braces. One script owns them.
type Words map[string]string

var special = regexp.MustCompile(`\*|\{[a-z0-9]+\}`)

// Fill gives text with known names replaced by their words.
func (w Words) Fill(text string) string {
	return special.ReplaceAllStringFunc(text, func(name string) string {
		if word, known := w[strings.Trim(name, "{}")]; known {
			return word
		}
		return name
	})
}

// Fits says whether a whole line fits a pattern, and if it does, learns the words of names that
// were not known.
func (w Words) Fits(pattern, line string) bool {
	var expr strings.Builder
	var names []string
	at := 0
	for _, m := range special.FindAllStringIndex(pattern, -1) {
		expr.WriteString(regexp.QuoteMeta(pattern[at:m[0]]))
		at = m[1]
		name := strings.Trim(pattern[m[0]:m[1]], "{}")
		switch word, known := w[name]; {
		case name == "*":
			expr.WriteString(".*")
		case known:
			expr.WriteString(regexp.QuoteMeta(word))
		default:
			expr.WriteString("([^ ;,]+)")
			names = append(names, name)
		}
	}
	expr.WriteString(regexp.QuoteMeta(pattern[at:]))
	m := regexp.MustCompile("^" + expr.String() + "$").FindStringSubmatch(line)
	if m == nil {
		return false
	}
	for i, name := range names {
		w[name] = m[i+1]
	}
	return true
}
