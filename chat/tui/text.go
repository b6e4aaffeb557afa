package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean makes text from the network fit for a terminal: one line without control characters, escape
// sequences, IRC's formatting and marks that change the direction of writing. It is idempotent.
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
		case formatting(r) || turns(r):
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
		if unicode.IsControl(r) || turns(r) || r == '\u2028' || r == '\u2029' {
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

// formatting says whether r is one of IRC's: bold, colour, reset, monospace, reverse, italic,
// strike, underline.
func formatting(r rune) bool { return strings.ContainsRune("\x02\x03\x04\x0f\x11\x16\x1d\x1e\x1f", r) }

// turns says whether r changes the direction or order of what is written: with it a text can look
// like another.
func turns(r rune) bool {
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' || r == '\ufeff' ||
		0xe0000 <= r && r <= 0xe007f || 0xfff9 <= r && r <= 0xfffb
}

// colourLen is how many bytes of a colour follow its mark: "4", "04", "4,12".
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

// cluster is the first character of text that a reader sees as one, and its width in columns.
func cluster(text string) (string, int) { return ansi.FirstGraphemeCluster(text, ansi.WcWidth) }

// width is the columns of clean text.
func width(text string) int {
	n := 0
	for text != "" {
		c, w := cluster(text)
		n += w
		text = text[len(c):]
	}
	return n
}

// clip shortens clean text to columns, with an ellipsis where something is gone.
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

// clipLeft keeps the end of clean text.
func clipLeft(text string, columns int) string {
	for width(text) > columns {
		c, _ := cluster(text)
		text = text[len(c):]
	}
	return text
}

// row is one line of the screen in the making.
type row struct {
	spans []span
	width int
}

type span struct {
	text  string
	style style
}

// add appends text, cleaned: nothing reaches the screen past this.
func (r *row) add(s style, text string) *row {
	if text = Clean(text); text != "" {
		r.spans = append(r.spans, span{text, s})
		r.width += width(text)
	}
	return r
}

// fill appends blanks up to columns.
func (r *row) fill(s style, columns int) *row {
	if n := columns - r.width; n > 0 {
		r.add(s, strings.Repeat(" ", n))
	}
	return r
}

// fit cuts the row to columns and fills it.
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

// write renders the row.
func (r *row) write(b *strings.Builder) {
	for _, sp := range r.spans {
		if sp.style == "" {
			b.WriteString(sp.text)
			continue
		}
		b.WriteString("\x1b[" + string(sp.style) + "m" + sp.text + "\x1b[m")
	}
}

// wrap breaks spans to rows of at most columns: at blanks, and within words that are too long.
// There is at least one row.
func wrap(spans []span, columns int) []row {
	columns = max(columns, 1)
	rows := []row{{}}
	for _, sp := range spans {
		for text := sp.text; text != ""; {
			word, space := nextWord(text)
			text = text[len(word):]
			last := &rows[len(rows)-1]
			if w := width(word); last.width > 0 && last.width+w > columns {
				if space { // a line's end needs no blank
					continue
				}
				rows = append(rows, row{})
			}
			rows = addWord(rows, sp.style, word, columns)
		}
	}
	return rows
}

// addWord appends a word to the last row, and to further ones if it is too long for one.
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

// nextWord is the first word of text, or the blanks before it.
func nextWord(text string) (word string, space bool) {
	space = text[0] == ' '
	for i := 0; i < len(text); i++ {
		if (text[i] == ' ') != space {
			return text[:i], space
		}
	}
	return text, space
}
