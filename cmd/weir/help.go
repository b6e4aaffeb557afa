package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// helpCmd is "weir help".
type helpCmd struct {
	Command []string `arg:"" optional:"" predictor:"commands" help:"The command to explain, such as lab run; all commands are listed without it."`
}

// Run prints the help of the command, as its flag --help does.
func (c *helpCmd) Run(k *kong.Context) error {
	if _, err := k.Kong.Parse(append(c.Command, "--help")); err != nil {
		return parseError(err)
	}
	return nil
}

// helpPage is the help of weir or of a command of it. Its two forms are the text that --help
// prints and the manual page.
type helpPage struct {
	path     string // "weir lab run"
	summary  string // a sentence
	usage    string
	text     []textBlock
	args     []entry
	flags    []entry
	commands []section
	statuses []status
	examples []string // lines; "" separates groups of them
	related  []string // paths of other commands, for the manual page
}

// entry is a name with its explanation.
type entry struct{ name, about string }

// section is a titled list.
type section struct {
	title   string
	entries []entry
}

// textBlock is a paragraph, which is wrapped, or lines that are printed as they are: lists and
// tables, which are indented in the text of a Help method.
type textBlock struct {
	lines    []string
	verbatim bool
}

// newHelpPage returns the help of a node of kong's model.
func newHelpPage(app *kong.Application, node *kong.Node) *helpPage {
	p := &helpPage{path: node.FullPath(), summary: summaryOf(node), usage: app.Name + " " + node.Summary(), args: positionals(node), flags: flagEntries(node)}
	p.text, p.examples = parseHelp(node.Detail)
	if _, example, ok := strings.Cut(node.Help, "; example: "); ok && len(p.examples) == 0 {
		p.examples = []string{example}
	}
	switch {
	case node.Parent == nil:
		p.usage = app.Name + " <command> [flags]"
		p.commands = groupedCommands(node)
		p.flags = append(p.flags, entry{"-v, --version", "Print the version."})
	case len(node.Children) > 0:
		p.commands = commandsBelow(node)
	}
	if len(node.Children) == 0 || node.DefaultCmd != nil {
		command := node
		if node.DefaultCmd != nil {
			command = node.DefaultCmd
		}
		p.statuses = statusesOf(command.Path())
	} else {
		p.statuses = usualStatuses
	}
	if node.Parent != nil {
		p.related = append(p.related, node.Parent.FullPath())
	}
	for _, child := range node.Children {
		p.related = append(p.related, child.FullPath())
	}
	return p
}

// summaryOf returns the help of a node without its example.
func summaryOf(node *kong.Node) string {
	summary, _, _ := strings.Cut(node.Help, "; example: ")
	return strings.TrimSuffix(summary, ".") + "."
}

// groupedCommands lists all commands under the titles of their groups.
func groupedCommands(root *kong.Node) []section {
	var all []section
	for _, leaf := range root.Leaves(true) {
		title := "Commands"
		if g := leaf.ClosestGroup(); g != nil {
			title = g.Title
		}
		i := slices.IndexFunc(all, func(s section) bool { return s.title == title })
		if i < 0 {
			i, all = len(all), append(all, section{title: title})
		}
		all[i].entries = append(all[i].entries, entry{leaf.Path(), summaryOf(leaf)})
	}
	return all
}

// commandsBelow lists a command's own commands, and then those of each that has some.
func commandsBelow(node *kong.Node) []section {
	all := []section{{title: "Commands"}}
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		if len(child.Children) == 0 {
			all[0].entries = append(all[0].entries, entry{child.Path(), summaryOf(child)})
			continue
		}
		group := section{title: strings.TrimSuffix(summaryOf(child), ".")}
		for _, leaf := range child.Leaves(true) {
			group.entries = append(group.entries, entry{leaf.Path(), summaryOf(leaf)})
		}
		all = append(all, group)
	}
	if len(all[0].entries) == 0 {
		all = all[1:]
	}
	return all
}

func positionals(node *kong.Node) (all []entry) {
	for _, arg := range node.Positional {
		all = append(all, entry{arg.Summary(), arg.Help})
	}
	return all
}

// flagEntries lists the flags of a node and of its parents, the node's own first.
func flagEntries(node *kong.Node) (all []entry) {
	groups := node.AllFlags(true)
	slices.Reverse(groups)
	var help []entry
	for _, group := range groups {
		for _, f := range group {
			e := entry{f.String(), f.Help}
			switch {
			case f.Name == "help":
				help = append(help, entry{e.name, "Print this help."})
			case !f.Hidden:
				all = append(all, e)
			}
		}
	}
	return append(all, help...)
}

// parseHelp parts the text of a Help method into blocks and examples. A line that is indented
// stands as it is.
func parseHelp(detail string) (blocks []textBlock, examples []string) {
	inExamples := false
	for part := range strings.SplitSeq(strings.Trim(detail, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(part, "\n"), "\n")
		if len(lines) == 1 && (lines[0] == "Examples:" || lines[0] == "Example:") {
			inExamples = true
			continue
		}
		verbatim := strings.HasPrefix(lines[0], " ")
		switch {
		case inExamples && verbatim && len(examples) > 0:
			examples = append(append(examples, ""), unindented(lines)...)
		case inExamples && verbatim:
			examples = unindented(lines)
		case part != "":
			inExamples = false
			if verbatim {
				lines = unindented(lines)
			}
			blocks = append(blocks, textBlock{lines, verbatim})
		}
	}
	return blocks, examples
}

// unindented takes the indentation of the first line off all lines.
func unindented(lines []string) []string {
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " "))]
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = strings.TrimPrefix(line, indent)
	}
	return all
}

// widestHelp is the number of columns after which help is wrapped on a wider terminal.
const widestHelp = 100

// printHelp implements kong.HelpPrinter.
func printHelp(_ kong.HelpOptions, k *kong.Context) error {
	node := k.Selected()
	if node == nil {
		node = k.Model.Node
	}
	_, err := io.WriteString(k.Stdout, newHelpPage(k.Model, node).plain(min(columnsOf(os.Stdout), widestHelp)))
	return err
}

// plain returns the page as text of so many columns.
func (p *helpPage) plain(width int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Usage: %s\n\n", p.usage)
	writeWrapped(&b, p.summary, 0, width)
	for _, block := range p.text {
		b.WriteByte('\n')
		if !block.verbatim {
			writeWrapped(&b, strings.Join(block.lines, " "), 0, width)
			continue
		}
		writeIndented(&b, block.lines)
	}
	if len(p.examples) > 0 {
		b.WriteString("\nExamples:\n")
		writeIndented(&b, p.examples)
	}
	for _, s := range p.commands {
		writeEntries(&b, s.title+":", s.entries, width)
	}
	writeEntries(&b, "Arguments:", p.args, width)
	writeEntries(&b, "Flags:", p.flags, width)
	var statuses []entry
	for _, s := range p.statuses {
		statuses = append(statuses, entry{fmt.Sprint(s.code), s.meaning})
	}
	writeEntries(&b, "Exit status:", statuses, width)
	return b.String()
}

func writeIndented(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight("  "+line, " "))
	}
}

// writeEntries writes a list in two columns, wrapping the second.
func writeEntries(w io.Writer, title string, entries []entry, width int) {
	if len(entries) == 0 {
		return
	}
	const widest = 26 // of the first column: a longer name has a line of its own
	left := 0
	for _, e := range entries {
		if n := utf8.RuneCountInString(e.name); n <= widest {
			left = max(left, n)
		}
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, e := range entries {
		if utf8.RuneCountInString(e.name) > left {
			fmt.Fprintf(w, "  %s\n%*s", e.name, left+4, "")
		} else {
			fmt.Fprintf(w, "  %-*s  ", left, e.name)
		}
		var about bytes.Buffer
		writeWrapped(&about, e.about, left+4, width)
		fmt.Fprint(w, strings.TrimLeft(about.String(), " "))
	}
}

// writeWrapped writes a paragraph in lines of at most width columns, each indented.
func writeWrapped(w io.Writer, text string, indent, width int) {
	line, used := []string{}, 0
	end := func() {
		fmt.Fprintf(w, "%*s%s\n", indent, "", strings.Join(line, " "))
		line, used = nil, 0
	}
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if len(line) > 0 && indent+used+1+n > max(width, indent+24) {
			end()
		}
		if len(line) > 0 {
			used++
		}
		line, used = append(line, word), used+n
	}
	end()
}

// overview prints what weir is and where to begin, for a command line without arguments.
func overview(w io.Writer, app *kong.Application) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\nUsage: weir <command> [flags]\n", app.Help)
	for _, g := range commandGroups {
		var entries []entry
		for _, child := range app.Children {
			if child.Group != nil && child.Group.Key == g.Key {
				entries = append(entries, entry{fmt.Sprintf("%-10s", child.Name), summaryOf(child)})
			}
		}
		writeEntries(&b, g.Title+":", entries, widestHelp)
	}
	b.WriteString(`
To begin:
  weir serve www                 a folder as a web site
  weir lab run im --quick        compare servers, in about four minutes
  weir chat serve --data chat    a chat for every IRC client

weir help lists all commands, weir help lab run explains one, weir --version (-v) prints the version.
`)
	_, err := w.Write(b.Bytes())
	return err
}
