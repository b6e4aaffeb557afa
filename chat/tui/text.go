package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean makes text from the network safe for a terminal. The result is one line without control
// characters, escape sequences, IRC formatting, and characters that change the direction of text.
// Clean is idempotent.
func Clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == 0x03:
			i += colourLen(text[i:])
		case r == '\t' || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case isFormatting(r) || isBidiControl(r):
		case r == utf8.RuneError && size <= 1 || unicode.IsControl(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isClean(text string) bool {
	for i, r := range text {
		if unicode.IsControl(r) || isBidiControl(r) || r == '\u2028' || r == '\u2029' {
			return false
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size <= 1 {
				return false
			}
		}
	}
	return true
}

// isFormatting reports whether r is an IRC formatting character: bold, colour, reset, monospace,
// reverse, italic, strikethrough, underline.
func isFormatting(r rune) bool {
	return strings.ContainsRune("\x02\x03\x04\x0f\x11\x16\x1d\x1e\x1f", r)
}

// isBidiControl reports whether r is invisible or changes the direction or order of text. Such
// characters can make a text look like another one.
func isBidiControl(r rune) bool {
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' || r == '\ufeff' ||
		0xe0000 <= r && r <= 0xe007f || 0xfff9 <= r && r <= 0xfffb
}

// colourLen returns the length of the parameters after a colour code: "4", "04", "4,12".
func colourLen(text string) int {
	digits := func(from int) int {
		n := from
		for n < len(text) && n < from+2 && '0' <= text[n] && text[n] <= '9' {
			n++
		}
		return n
	}
	n := digits(0)
	if n > 0 && n < len(text) && text[n] == ',' {
		if m := digits(n + 1); m > n+1 {
			return m
		}
	}
	return n
}

// cluster returns the first grapheme cluster of text and its width in columns.
func cluster(text string) (string, int) { return ansi.FirstGraphemeCluster(text, ansi.WcWidth) }

// width returns the number of columns of clean text.
func width(text string) int {
	n := 0
	for text != "" {
		c, w := cluster(text)
		n += w
		text = text[len(c):]
	}
	return n
}

// clip shortens clean text to columns and ends it with an ellipsis if it is cut.
func clip(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	if columns <= 0 {
		return ""
	}
	n, end := 0, 0
	for end < len(text) {
		c, w := cluster(text[end:])
		if n+w > columns-1 {
			break
		}
		n += w
		end += len(c)
	}
	return text[:end] + "…"
}

// clipLeft shortens clean text to columns at its start.
func clipLeft(text string, columns int) string {
	for width(text) > columns {
		c, _ := cluster(text)
		text = text[len(c):]
	}
	return text
}

// row is one line of the screen under construction.
type row struct {
	spans []span
	width int
}

type span struct {
	text  string
	style style
}

// add appends text after cleaning it. All text on the screen passes through here.
func (r *row) add(s style, text string) *row {
	if text = Clean(text); text != "" {
		r.spans = append(r.spans, span{text, s})
		r.width += width(text)
	}
	return r
}

// fill appends blanks up to a column.
func (r *row) fill(s style, columns int) *row {
	if n := columns - r.width; n > 0 {
		r.add(s, strings.Repeat(" ", n))
	}
	return r
}

// fit cuts or fills the row to a number of columns.
func (r *row) fit(s style, columns int) *row {
	if r.width <= columns {
		return r.fill(s, columns)
	}
	cut := row{}
	for _, sp := range r.spans {
		if left := columns - cut.width; left > 0 {
			cut.add(sp.style, clip(sp.text, left))
		}
	}
	*r = cut
	return r.fill(s, columns)
}

func (r *row) join(other row) *row {
	r.spans = append(r.spans, other.spans...)
	r.width += other.width
	return r
}

// write renders the row with its styles.
func (r *row) write(b *strings.Builder) {
	for _, sp := range r.spans {
		if sp.style == "" {
			b.WriteString(sp.text)
			continue
		}
		b.WriteString("\x1b[" + string(sp.style) + "m" + sp.text + "\x1b[m")
	}
}

// wrap breaks spans into rows of at most columns, at blanks and inside words that are too long. It
// returns at least one row.
func wrap(spans []span, columns int) []row {
	columns = max(columns, 1)
	rows := []row{{}}
	for _, sp := range spans {
		for text := sp.text; text != ""; {
			word, space := nextWord(text)
			text = text[len(word):]
			last := &rows[len(rows)-1]
			if w := width(word); last.width > 0 && last.width+w > columns {
				if space { // drop the blank at a line break
					continue
				}
				rows = append(rows, row{})
			}
			rows = addWord(rows, sp.style, word, columns)
		}
	}
	return rows
}

// addWord appends a word to the last row, and to new rows if it is too long.
func addWord(rows []row, s style, word string, columns int) []row {
	for word != "" {
		last := &rows[len(rows)-1]
		end, n := 0, last.width
		for end < len(word) {
			c, w := cluster(word[end:])
			if n+w > columns && n > 0 {
				break
			}
			n += w
			end += len(c)
		}
		last.add(s, word[:end])
		if word = word[end:]; word != "" {
			rows = append(rows, row{})
		}
	}
	return rows
}

// nextWord returns the first word of text, or the blanks before it.
func nextWord(text string) (word string, space bool) {
	space = text[0] == ' '
	for i := 0; i < len(text); i++ {
		if (text[i] == ' ') != space {
			return text[:i], space
		}
	}
	return text, space
}
