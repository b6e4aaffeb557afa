// Package pattern matches lines of IRC in test scripts. In a pattern * stands for any text. {NAME}
// stands for a word without space, ; and comma, the same word at every place of NAME.
//
// # Limitations
//
// A pattern is compiled at each use. A literal * or {name} cannot be written in a pattern.
package pattern

import (
	"regexp"
	"strings"
)

// Words are the values of a script's names, without braces. They belong to one script.
type Words map[string]string

var special = regexp.MustCompile(`\*|\{[a-z0-9]+\}`)

// Fill returns text with known names replaced by their words.
func (w Words) Fill(text string) string {
	return special.ReplaceAllStringFunc(text, func(name string) string {
		if word, known := w[strings.Trim(name, "{}")]; known {
			return word
		}
		return name
	})
}

// Fits reports whether a line matches a pattern, and if it does, stores the words of new names.
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
