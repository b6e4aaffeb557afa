package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report/figure"
)

// escapeMarkdown escapes the characters that have a meaning in Markdown or HTML.
var escapeMarkdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`)

// markdown returns the document as Markdown.
func (doc *document) markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s**\n\n", escapeMarkdown.Replace(doc.Title), escapeMarkdown.Replace(doc.Question))
	for _, a := range doc.Answer {
		fmt.Fprintf(&b, "%s\n\n", escapeMarkdown.Replace(a))
	}
	if doc.Figure != nil {
		markFigure(&b, doc.Figure)
	}
	markItems(&b, doc.Caveats)
	for _, s := range doc.Sections {
		markSection(&b, s)
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

// markSection writes a section. A folded one has its title in a summary element.
func markSection(b *strings.Builder, s Section) {
	title := escapeMarkdown.Replace(s.Title)
	if s.Folded {
		fmt.Fprintf(b, "<details><summary><h2>%s</h2></summary>\n\n%s\n\n", title, escapeMarkdown.Replace(s.How))
		markBlocks(b, s.Blocks)
		b.WriteString("</details>\n\n")
		return
	}
	fmt.Fprintf(b, "## %s\n\n%s\n\n", title, escapeMarkdown.Replace(s.How))
	markBlocks(b, s.Blocks)
}

func markFigure(b *strings.Builder, f *figure.Figure) {
	fmt.Fprintf(b, "![%s](%s/%s.svg)\n\n", escapeMarkdown.Replace(f.Title), figuresDir, f.Name)
}

func markItems(b *strings.Builder, items []string) {
	for _, i := range items {
		fmt.Fprintf(b, "- %s\n", escapeMarkdown.Replace(i))
	}
	if len(items) > 0 {
		b.WriteString("\n")
	}
}

func markBlocks(b *strings.Builder, blocks []Block) {
	for _, x := range blocks {
		if x.Head != "" {
			fmt.Fprintf(b, "### %s\n\n", escapeMarkdown.Replace(x.Head))
		}
		if x.Text != "" {
			fmt.Fprintf(b, "%s\n\n", escapeMarkdown.Replace(x.Text))
		}
		markItems(b, x.Items)
		if x.Code != "" {
			fmt.Fprintf(b, "    %s\n\n", x.Code)
		}
		if x.Table != nil {
			markTable(b, x.Table)
		}
		for _, f := range x.Figures {
			markFigure(b, f)
		}
		if x.Fold != "" {
			fmt.Fprintf(b, "<details><summary>%s</summary>\n\n", escapeMarkdown.Replace(x.Fold))
			markBlocks(b, x.Inside)
			b.WriteString("</details>\n\n")
		}
	}
}

func markTable(b *strings.Builder, t *Table) {
	fmt.Fprintf(b, "%s:\n\n", escapeMarkdown.Replace(t.Caption))
	markRow(b, t.head())
	for _, a := range t.Align {
		b.WriteString(map[rune]string{'l': "| --- ", 'r': "| ---: "}[a])
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		markRow(b, r)
	}
	b.WriteString("\n")
}

func markRow(b *strings.Builder, cells []string) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", escapeMarkdown.Replace(c))
	}
	b.WriteString("|\n")
}

// head returns the column headings, each prefixed with the heading above it.
func (t *Table) head() []string {
	head := slices.Clone(t.Head)
	at := 0
	for _, o := range t.Over {
		for range o.Span {
			if at < len(head) && o.Text != "" {
				head[at] = o.Text + ": " + head[at]
			}
			at++
		}
	}
	return head
}
