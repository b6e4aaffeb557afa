package reference

import (
	"fmt"
	"strings"
)

// intro is the start of the document.
const intro = `# The site file: reference

A site file describes a web server: ` + "`weir serve site.hcl`" + ` serves it, ` + "`weir serve check`" + ` checks it,
and ` + "`weir serve draw`" + ` draws it. [Compose a site](compose-a-site.md) is the tutorial. This page lists
every block with its attributes; ` + "`weir serve components NAME`" + ` prints one of them, with ` + "`--json`" + ` as
data.

The language is HCL. The file is a pipeline: a list of blocks, each a component, in the order in
which an exchange passes them. The block ` + "`server`" + ` says how the pipeline is served. A
word behind a component's type, as in ` + "`files \"pages\" { ... }`" + `, is its name in drawings. Paths of
files are relative to the folder of the site file.

An exchange is a request with its response. A source answers it, and a filter changes the answer's
body, so it stands behind the source. A pipe may stand anywhere: one that answers early, such as a
limit or a login, stands before the source. After an answer the sources behind are not called, and
filters and pipes are, so that a log or ` + "`compress`" + ` sees every answer. A source cannot stand behind
one that answers every exchange; it may stand behind ` + "`files`" + ` with ` + "`fallback = \"next\"`" + `, or behind
routes. An exchange that no source answers gets 404.

| type | how to write it |
| --- | --- |
| string | ` + "`\"text\"`" + ` |
| duration | a string of numbers with units: ` + "`\"100ms\"`, `\"30s\"`, `\"1m30s\"`, `\"2h\"`" + ` |
| size | a string: a number of bytes, or one with KB, MB or GB (of 1,024) behind it: ` + "`\"64MB\"`" + ` |
| integer, number | ` + "`8080`, `0.5`" + ` |
| true or false | ` + "`true`, `false`" + ` |
| list of strings, of integers | ` + "`[\"a\", \"b\"]`, `[1, 2]`; for a list of one string, also `\"a\"`" + ` |
| map of strings, of integers | ` + "`{ \"name\" = \"value\" }`, `{ \"name\" = 2 }`" + ` |

An attribute that is left out has its default. So has one that is empty or 0, unless its explanation
says otherwise.
`

// width is the number of columns of the document's prose.
const width = 100

// Markdown returns the document of the blocks.
func Markdown(blocks []Block) string {
	var b strings.Builder
	b.WriteString(intro)
	for i, block := range blocks {
		if i == 0 || block.Group != blocks[i-1].Group {
			fmt.Fprintf(&b, "\n**%s:**\n\n", block.Group)
		}
		writeParagraph(&b, "  ", fmt.Sprintf("- [`%s`](#%s): %s", block.Name, block.Name, block.About))
	}
	for _, block := range blocks {
		block.markdown(&b)
	}
	return b.String()
}

func (block Block) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## `%s`\n\n", block.Name)
	writeParagraph(b, "", block.sentence())
	for _, s := range []string{block.Notes, block.Label, block.Inside} {
		if s != "" {
			b.WriteByte('\n')
			writeParagraph(b, "", s)
		}
	}
	if len(block.Attributes) > 0 {
		b.WriteByte('\n')
		writeTable(b, block.Attributes)
		b.WriteByte('\n')
		for _, a := range block.Attributes {
			writeParagraph(b, "  ", "- "+a.Text)
		}
	}
	fmt.Fprintf(b, "\n```hcl\n%s```\n", block.Example)
}

// sentence returns what the block does as a sentence.
func (block Block) sentence() string {
	return strings.ToUpper(block.About[:1]) + block.About[1:] + "."
}

// Kind returns the type of the attribute's values, with their unit.
func (a Attribute) Kind() string {
	switch {
	case a.Type == "string" && a.Unit != "":
		return a.Unit
	case a.Unit != "":
		return a.Type + ", " + a.Unit
	}
	return a.Type
}

// Limits returns which values the attribute may have; "" means all of its type.
func (a Attribute) Limits() string {
	if len(a.Values) == 0 {
		return a.Range
	}
	return strings.Join(a.Values, ", ")
}

// writeTable writes a table of the attributes. It omits a column that is empty in every row.
func writeTable(b *strings.Builder, attributes []Attribute) {
	columns := []struct {
		title string
		cell  func(Attribute) string
	}{
		{"attribute", func(a Attribute) string { return code(a.Name) }},
		{"type", Attribute.Kind},
		{"default", func(a Attribute) string {
			if a.Required {
				return "required"
			}
			if _, ok := a.DefaultValue(); ok {
				return code(a.Default)
			}
			return a.Default
		}},
		{"values", Attribute.Limits},
		{"example", func(a Attribute) string { return code(a.Example) }},
	}
	head, rule, rows := "|", "|", make([]string, len(attributes))
	for _, c := range columns {
		empty := true
		for _, a := range attributes {
			empty = empty && c.cell(a) == ""
		}
		if empty {
			continue
		}
		head, rule = head+" "+c.title+" |", rule+" --- |"
		for i, a := range attributes {
			rows[i] += " " + strings.ReplaceAll(c.cell(a), "|", `\|`) + " |"
		}
	}
	fmt.Fprintf(b, "%s\n%s\n", head, rule)
	for _, r := range rows {
		fmt.Fprintf(b, "|%s\n", r)
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// writeParagraph writes a text in lines of the document's width, the later ones indented.
func writeParagraph(b *strings.Builder, indent, text string) {
	for i, line := range wrap(text, width-len(indent)) {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
}

// wrap breaks a text into lines of so many columns.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > columns {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
