// Package printable cleans text of strangers before it is printed: an escape sequence in it would
// control the terminal, and marks of the direction of writing would disguise what it says.
//
// # Limitations
//
// It does not escape text for HTML or Markdown.
package printable

import (
	"strings"
	"unicode"
)

// Text returns text with each character that is not printable, and each byte that is no valid
// UTF-8, replaced by U+FFFD. Of white space only the space is printable.
func Text(text string) string { return strings.Map(visible, text) }

// Lines is like Text, but line breaks and tabs stay.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return visible(r)
	}, text)
}

func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// Is reports whether Text would return text as it is.
func Is(text string) bool { return Text(text) == text }
