package search

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lineFilter quickly rejects lines that cannot match a query because they lack one of its words,
// ignoring case and accents. A line that it accepts may still not match.
type lineFilter struct {
	foldedWords [][]byte // folded
	scratch     []byte
}

func newLineFilter(q Query) lineFilter {
	var f lineFilter
	for _, t := range q.terms {
		if !t.excluded {
			for word := range strings.FieldsSeq(t.text) {
				f.foldedWords = append(f.foldedWords, appendFolded(nil, []byte(word)))
			}
		}
	}
	return f
}

// mayMatch reports whether a line without its tags contains all the words, at least as parts of
// longer words.
func (f *lineFilter) mayMatch(line []byte) bool {
	if len(f.foldedWords) == 0 {
		return true
	}
	f.scratch = appendFolded(f.scratch[:0], line)
	for _, word := range f.foldedWords {
		if !bytes.Contains(f.scratch, word) {
			return false
		}
	}
	return true
}

// appendFolded appends text in lower case and without accents. Two words that the index treats as
// equal are equal in this form.
func appendFolded(dst, text []byte) []byte {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return appendFoldedUnicode(dst, text[i:])
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

func appendFoldedUnicode(dst, text []byte) []byte {
	for _, r := range string(norm.NFD.Bytes(text)) {
		if !unicode.Is(unicode.Mn, r) {
			dst = utf8.AppendRune(dst, foldRune(r))
		}
	}
	return dst
}

// foldRune maps all runes that differ only in case to the same rune, to the lower-case one for
// ASCII.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
