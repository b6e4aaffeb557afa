package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"weir/lab"
)

// eachNode calls f with every command of weir, the groups of commands included.
func eachNode(t *testing.T, f func(*kong.Kong, *kong.Node)) {
	t.Helper()
	var c cli
	k, err := newParser(&c, &terminal{})
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		if n.Hidden {
			return
		}
		f(k, n)
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(k.Model.Node)
}

func TestEveryCommandStatesItsExitStatuses(t *testing.T) {
	eachNode(t, func(k *kong.Kong, n *kong.Node) {
		help := newHelpPage(k.Model, n).plain(80)
		_, statuses, ok := strings.Cut(help, "\nExit status:\n")
		for _, code := range []string{"  0 ", "  1 ", "  2 ", "  130 "} {
			if !ok || !strings.Contains(statuses, code) {
				t.Errorf("weir %s --help: exit statuses are %q, want%s among them", n.Path(), statuses, code)
			}
		}
		if strings.Contains(n.Detail, "Exit status") {
			t.Errorf("weir %s: got exit statuses in its Help text, want them in exit.go only", n.Path())
		}
	})
}

func TestEveryTableOfStatusesBelongsToACommand(t *testing.T) {
	commands := map[string]bool{}
	eachNode(t, func(_ *kong.Kong, n *kong.Node) { commands[n.Path()] = true })
	for name := range statusMeanings {
		if !commands[name] {
			t.Errorf("statusMeanings: got %q, want only names of commands", name)
		}
	}
}

// Indented lines of a Help method keep their columns; paragraphs fit the terminal.
func TestHelpWrapsParagraphsAndKeepsTables(t *testing.T) {
	blocks, examples := parseHelp("One paragraph\nof two lines.\n\n  table   with columns\n    and a deeper line\n\nExamples:\n\n  $ a  # b\n\n  $ c\n\nA last one:\n\n  code")
	p := helpPage{path: "x", usage: "x", summary: "Sum.", text: blocks, examples: examples}
	want := "Usage: x\n\nSum.\n\nOne paragraph of\ntwo lines.\n\n  table   with columns\n    and a deeper line\n\nA last one:\n\n  code\n\nExamples:\n  $ a  # b\n\n  $ c\n"
	if got := p.plain(24); !strings.HasPrefix(got, strings.Replace(want, "One paragraph of\ntwo lines.", "One paragraph of two\nlines.", 1)) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A line wider than a terminal of 80 columns is an example or a table, which is not wrapped.
func TestProseOfHelpFits80Columns(t *testing.T) {
	eachNode(t, func(k *kong.Kong, n *kong.Node) {
		for line := range strings.Lines(newHelpPage(k.Model, n).plain(80)) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "Usage: ") {
				t.Errorf("weir %s --help: got a line of %d columns, want at most 80: %s", n.Path(), len([]rune(line)), line)
			}
		}
	})
}

func TestHelpIsFoundByEverySpelling(t *testing.T) {
	weir := binary(t)
	output := func(args ...string) string {
		out, err := exec.Command(weir, args...).Output()
		if err != nil {
			t.Errorf("weir %s: got %v, want exit status 0", strings.Join(args, " "), err)
		}
		return string(out)
	}
	if got := output(); !strings.Contains(got, "weir lab run im --quick") || !strings.Contains(got, "Serve the web:") {
		t.Errorf("weir without arguments: want an overview with a first command and the group of serve, got\n%s", got)
	}
	for _, name := range lab.Builtin() {
		if help := strings.Join(strings.Fields(output("help", "lab", "run")), " "); !strings.Contains(help, name+",") && !strings.Contains(help, name+")") {
			t.Errorf("weir help lab run: want the experiment %s in its list, got\n%s", name, help)
		}
	}
	for _, same := range [][][]string{
		{{"help"}, {"--help"}, {"-h"}},
		{{"help", "lab"}, {"lab", "--help"}},
		{{"help", "lab", "run"}, {"lab", "run", "--help"}, {"lab", "run", "im", "-h"}},
		{{"version"}, {"--version"}, {"-v"}},
	} {
		want := output(same[0]...)
		for _, args := range same[1:] {
			if got := output(args...); got != want || got == "" {
				t.Errorf("weir %s prints\n%s\nwant, as weir %s,\n%s", strings.Join(args, " "), got, strings.Join(same[0], " "), want)
			}
		}
	}
	if all := output("help"); !strings.Contains(all, "\nHost a chat:\n  chat serve ") || !strings.Contains(all, "\n  chat room delete ") {
		t.Errorf("weir help: want the commands in groups, got\n%s", all)
	}
}
