package figure

import "fmt"

// colour is 24-bit RGB.
type colour struct{ r, g, b uint8 }

func (c colour) hex() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// The palettes are built on Okabe and Ito's (2008), darkened or lightened until every colour can be
// that of text; TestPaletteHasEnoughContrast holds them to it.
var (
	light = map[Role]colour{
		Ink: {0x1b, 0x1f, 0x24}, Muted: {0x5a, 0x63, 0x6e}, Grid: {0xdf, 0xe3, 0xe8},
		Paper: {0xff, 0xff, 0xff}, Band: {0xee, 0xf1, 0xf5},
		series: {0x0b, 0x62, 0xa4}, series + 1: {0xc6, 0x52, 0x06}, series + 2: {0x00, 0x7a, 0x5a}, series + 3: {0xa8, 0x41, 0x8a},
		series + 4: {0x8a, 0x6d, 0x00}, series + 5: {0x00, 0x7c, 0x91}, series + 6: {0x55, 0x5b, 0x66}, series + 7: {0xb3, 0x20, 0x2c},
	}
	dark = map[Role]colour{
		Ink: {0xe8, 0xea, 0xed}, Muted: {0xa3, 0xac, 0xb8}, Grid: {0x33, 0x3b, 0x45},
		Paper: {0x14, 0x18, 0x1d}, Band: {0x22, 0x29, 0x31},
		series: {0x5a, 0xa9, 0xe6}, series + 1: {0xff, 0x8a, 0x4c}, series + 2: {0x35, 0xc2, 0x9a}, series + 3: {0xe0, 0x8f, 0xc8},
		series + 4: {0xd6, 0xb8, 0x3f}, series + 5: {0x7f, 0xdb, 0xe0}, series + 6: {0xb5, 0xbb, 0xc4}, series + 7: {0xff, 0x7b, 0x86},
	}
)

// variable is the name of the CSS variable that holds a role's colour.
func variable(r Role) string {
	if r < series {
		return [...]string{"--ink", "--muted", "--grid", "--paper", "--band"}[r]
	}
	return fmt.Sprintf("--s%d", int(r-series))
}

// Variables is the CSS that sets every role's variable, for :root, in the light or the dark theme.
func Variables(inTheDark bool) string {
	theme := light
	if inTheDark {
		theme = dark
	}
	css := ""
	for r := Ink; r < series+seriesRoles; r++ {
		css += fmt.Sprintf("%s:%s;", variable(r), theme[r].hex())
	}
	return css
}
