package report

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"text/template"
)

//go:embed markdown.tmpl
var markdownSource string

var markdownTemplate = template.Must(template.New("markdown").Funcs(template.FuncMap{
	"md":    escapeMarkdown.Replace,
	"heads": (*Table).heads,
	"rule":  strings.NewReplacer("l", "| --- ", "r", "| ---: ").Replace,
}).Parse(markdownSource))

// EscapeMarkdown returns text as Markdown that shows it as it is, on one line.
func EscapeMarkdown(text string) string {
	return escapeMarkdown.Replace(strings.Join(strings.Fields(text), " "))
}

// escapeMarkdown escapes the characters that have a meaning in Markdown or HTML.
var escapeMarkdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`)

// markdown returns the document as Markdown.
func (doc *document) markdown() ([]byte, error) {
	var b bytes.Buffer
	if err := markdownTemplate.Execute(&b, doc); err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// heads returns the column headings, each prefixed with the heading above it.
func (t *Table) heads() []string {
	heads := slices.Clone(t.Head)
	at := 0
	for _, o := range t.Over {
		for i := at; i < min(at+o.Span, len(heads)); i++ {
			if o.Text != "" {
				heads[i] = o.Text + ": " + heads[i]
			}
		}
		at += o.Span
	}
	return heads
}
