package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"weir/lab/report/figure"
)

//go:embed page.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg":    func(f *figure.Figure) template.HTML { return template.HTML(f.Inline()) }, // figure escapes what users named
	"style":  func() template.CSS { return template.CSS(style()) },
	"begins": func(t *table, row int) bool { return slices.Contains(t.Groups, row) },
	"whole":  whole,
	"right":  func(align string, column int) bool { return column < len(align) && align[column] == 'r' },
}).Parse(pageSource))

var brackets = regexp.MustCompile(`\([^()]{1,30}\)`)

// whole keeps short brackets, such as intervals, on one line.
func whole(s string) string {
	return brackets.ReplaceAllStringFunc(s, func(b string) string { return strings.ReplaceAll(b, " ", "\u00a0") })
}

// style is the page's CSS with the figures' colours, light and dark.
func style() string {
	return ":root{color-scheme:light dark;" + figure.Variables(false) + "}\n" +
		"@media (prefers-color-scheme:dark){:root{" + figure.Variables(true) + "}}\n" +
		pageStyle +
		"@media print{:root{" + figure.Variables(false) + "}}\n"
}

// html is the document as one page that needs nothing else.
func (doc *document) html() ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
