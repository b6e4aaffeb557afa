package search

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// filter tells quickly that a line cannot fit a query: it lacks one of the words, whatever their
// case and accents. What it lets through may fit or not.
type filter struct {
	words   [][]byte // folded
	scratch []byte
}

func newFilter(q Query) filter {
	var f filter
	for _, t := range q.terms {
		if !t.not {
			for word := range strings.FieldsSeq(t.text) {
				f.words = append(f.words, appendFolded(nil, []byte(word)))
			}
		}
	}
	return f
}

// mayFit reports whether a line without its tags has all the words, at least as parts of others.
func (f *filter) mayFit(line []byte) bool {
	if len(f.words) == 0 {
		return true
	}
	f.scratch = appendFolded(f.scratch[:0], line)
	for _, word := range f.words {
		if !bytes.Contains(f.scratch, word) {
			return false
		}
	}
	return true
}

// appendFolded appends a text in a form in which two words are the same if the index takes them for
// the same: in lower case, and without accents.
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

// foldRune is the same for all runes that differ in case alone: a lower-case one where that is
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
