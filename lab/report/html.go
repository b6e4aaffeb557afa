package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/lab/report/figure"
	"weir/lab/report/format"
)

//go:embed page.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	// the figure itself escapes users' names
	"svg":     func(f *figure.Figure) template.HTML { return template.HTML(f.Inline()) },
	"numbers": numbersOf,
	"style":   func() template.CSS { return template.CSS(Style()) },
	"begins":  func(t *Table, row int) bool { return slices.Contains(t.Groups, row) },
	"whole":   whole,
	"right":   right,
	"class":   class,
}).Parse(pageSource))

var brackets = regexp.MustCompile(`\([^()]{1,30}\)`)

// whole prevents line breaks within short brackets, such as intervals.
func whole(s string) string {
	return brackets.ReplaceAllStringFunc(s, func(b string) string { return strings.ReplaceAll(b, " ", "\u00a0") })
}

// right reports whether a column is aligned to the right.
func right(align string, column int) bool { return column < len(align) && align[column] == 'r' }

// class returns the CSS class of a cell: r aligns numbers to the right, w gives long text a minimum
// width on a phone.
func class(align string, column int, cell string) string {
	switch {
	case right(align, column):
		return "r"
	case utf8.RuneCountInString(cell) > 40:
		return "w"
	}
	return ""
}

// numbersOf returns a figure's data as a table, for readers who cannot point at its marks; nil if
// it has none.
func numbersOf(f *figure.Figure) *Table {
	if len(f.Data.Head) == 0 {
		return nil
	}
	t := &Table{Caption: "Numbers: " + f.Title, Head: slices.Clone(f.Data.Head), Rows: f.Data.Rows}
	for i, h := range t.Head {
		if h != "" && h[0] < utf8.RuneSelf {
			t.Head[i] = format.Upper(h)
		}
		word := func(row []string) bool {
			return row[i] != "" && row[i] != format.Absent && strings.IndexAny(row[i], "-0123456789") != 0
		}
		if i == 0 || slices.ContainsFunc(t.Rows, word) {
			t.Align += "l"
		} else {
			t.Align += "r"
		}
	}
	return t
}

// Style returns the CSS of the lab's pages, with the figures' colours in the light and the dark
// theme.
func Style() string {
	return ":root{color-scheme:light dark;" + figure.Variables(false) + "}\n" +
		"@media (prefers-color-scheme:dark){:root{" + figure.Variables(true) + "}}\n" +
		pageStyle +
		"@media print{:root{" + figure.Variables(false) + "}}\n"
}

// html returns the document as one page without external resources.
func (doc *document) html() ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
