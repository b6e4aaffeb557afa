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

// textWidth is the width of s set at size, in points.
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

// fit shortens s with an ellipsis until it is at most width points wide at size.
func fit(s string, size, width float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 1 && textWidth(string(r)+"…", size) > width {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

// Clean replaces what may not stand in a text on one line (control characters, line breaks, broken
// UTF-8) by spaces. It makes any string safe for XML, once escaped, and for terminals.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || r == 0xFFFE || r == 0xFFFF || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}
