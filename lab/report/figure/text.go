package figure

import (
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

var regular = sync.OnceValue(func() *sfnt.Font {
	f, err := sfnt.Parse(liberationsansregular.TTF)
	if err != nil {
		panic("figure: the built-in font is damaged: " + err.Error())
	}
	return f
})

// textWidth returns the width of s in points at a font size.
func textWidth(s string, size float64) float64 {
	const scale = 1000
	var buf sfnt.Buffer
	var units fixed.Int26_6
	for _, r := range s {
		g, err := regular().GlyphIndex(&buf, r)
		if err != nil {
			continue
		}
		if a, err := regular().GlyphAdvance(&buf, g, fixed.I(scale), font.HintingNone); err == nil {
			units += a
		}
	}
	return float64(units) / 64 / scale * size
}

// fontSlack is how much wider than Liberation Sans the font of a page can be: DejaVu Sans, for
// example.
const fontSlack = 1.18

// roomFor returns the width to leave for s, in points at a font size, in any usual font.
func roomFor(s string, size float64) float64 { return fontSlack * textWidth(s, size) }

// wrap breaks s into lines that fit width points at size: at spaces, and within a word only if the
// word alone is too wide. There is at least one line.
func wrap(s string, size, width float64) []string {
	lines := []string{""}
	for _, word := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch joined := strings.TrimSpace(*last + " " + word); {
		case roomFor(joined, size) <= width:
			*last = joined
			continue
		case *last != "":
			lines = append(lines, "")
		}
		lines = append(lines[:len(lines)-1], breakWord(word, size, width)...)
	}
	return lines
}

// breakWord cuts a word into pieces of at most width points at size, of at least one character.
func breakWord(word string, size, width float64) []string {
	var pieces []string
	piece, wide := "", 0.0
	for _, r := range word {
		advance := roomFor(string(r), size)
		if piece != "" && wide+advance > width {
			pieces, piece, wide = append(pieces, piece), "", 0
		}
		piece, wide = piece+string(r), wide+advance
	}
	return append(pieces, piece)
}

// Clean replaces characters that a line of text may not contain (control characters, line breaks,
// invalid UTF-8) with spaces. Its result is safe for terminals and, once escaped, for XML.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || r == 0xFFFE || r == 0xFFFF || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}
