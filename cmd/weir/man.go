package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// manCmd is "weir man".
type manCmd struct {
	Dir string `arg:"" type:"path" predictor:"folder" help:"The folder for the pages, which is made if it does not exist."`
}

// Help is the long part of the command's help.
func (c *manCmd) Help() string {
	return `Writes a page of section 1 for weir and one for each of its commands, from the same text as --help. make install puts them beside the binary.

Examples:

  weir man man1 && man -l man1/weir-lab-run.1
  make install PREFIX=$HOME/.local`
}

// Run writes the pages.
func (c *manCmd) Run(k *kong.Context, t *terminal) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	n := 0
	var write func(node *kong.Node) error
	write = func(node *kong.Node) error {
		p := newHelpPage(k.Model, node)
		n++
		if err := os.WriteFile(filepath.Join(c.Dir, manName(p.path)+".1"), p.man(), 0o644); err != nil {
			return err
		}
		for _, child := range node.Children {
			if child.Hidden {
				continue
			}
			if err := write(child); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(k.Model.Node); err != nil {
		return err
	}
	fmt.Fprintf(t.err, "weir: %d manual pages are in %s\n", n, c.Dir)
	return nil
}

// manName returns the name of the page of a command: weir-lab-run.
func manName(path string) string { return strings.ReplaceAll(path, " ", "-") }

// man returns the page in the macros of man(7).
func (p *helpPage) man() []byte {
	var b bytes.Buffer
	name := manName(p.path)
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"weir %s\" \"Weir manual\"\n", roff(strings.ToUpper(name)), roff(buildVersion()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roffLine(strings.TrimSuffix(p.summary, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roffLine(p.usage))
	if len(p.text) > 0 {
		b.WriteString(".SH DESCRIPTION\n")
	}
	for i, block := range p.text {
		switch {
		case block.verbatim:
			manVerbatim(&b, block.lines)
		case i > 0:
			b.WriteString(".PP\n")
			fallthrough
		default:
			fmt.Fprintln(&b, roffLine(strings.Join(block.lines, " ")))
		}
	}
	for _, s := range p.commands {
		manEntries(&b, s.title, s.entries)
	}
	manEntries(&b, "Arguments", p.args)
	manEntries(&b, "Options", p.flags)
	if len(p.examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
		manVerbatim(&b, p.examples)
	}
	var statuses []entry
	for _, s := range p.statuses {
		statuses = append(statuses, entry{fmt.Sprint(s.code), s.meaning})
	}
	manEntries(&b, "Exit status", statuses)
	if len(p.related) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, path := range p.related {
			comma := ","
			if i == len(p.related)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(manName(path)), comma)
		}
	}
	return b.Bytes()
}

func manEntries(b *bytes.Buffer, title string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", roff(strings.ToUpper(title)))
	for _, e := range entries {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(e.name), roffLine(e.about))
	}
}

// manVerbatim writes lines that keep their columns.
func manVerbatim(b *bytes.Buffer, lines []string) {
	b.WriteString(".PP\n.RS 4\n.nf\n")
	for _, line := range lines {
		fmt.Fprintln(b, roffLine(line))
	}
	b.WriteString(".fi\n.RE\n")
}

// roffEscapes escapes the characters that roff would replace by typographic ones. So a command that
// is copied from a manual page works: its hyphens, for example, are those that a shell reads.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff escapes text inside a line.
func roff(text string) string {
	var b strings.Builder
	for _, r := range roffEscapes.Replace(text) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

// roffLine escapes a whole line. roff takes a line that starts with a dot or an apostrophe for a
// request, so such a line is preceded by an escape that prints nothing.
func roffLine(text string) string {
	if line := roff(text); line != "" && (line[0] == '.' || strings.HasPrefix(line, `\(aq`)) {
		return `\&` + line
	}
	return roff(text)
}
