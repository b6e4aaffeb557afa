// Package draw draws a net of flow, as it was at a moment, in the text languages of Graphviz and
// Mermaid.
//
// # Limitations
//
// Where things stand is left to the program that renders the text. A net of more than some dozens
// of stages is drawn, but hardly read.
package draw

import (
	"fmt"
	"strings"
	"unicode"

	"weir/flow"
)

// DOT draws a net in Graphviz's language, with what has passed each edge, and what each edge holds.
func DOT(t flow.Topology) string {
	var b strings.Builder
	b.WriteString("digraph net {\n\trankdir=LR;\n\tnode [shape=box, style=rounded];\n\t\"\" [shape=point];\n")
	for _, s := range t.Stages {
		named := s
		named.Name = oneLine(s.Name)
		fmt.Fprintf(&b, "\t%s [label=%s];\n", dotText(oneLine(s.Name)), dotText(stage(named, "\n")))
	}
	for _, e := range t.Edges {
		fmt.Fprintf(&b, "\t%s -> %s [label=%s];\n", dotText(oneLine(e.From)), dotText(oneLine(e.To)), dotText(lines("\n", edge(e), room(t.Way, e))))
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid draws a net in Mermaid's language, with the same.
func Mermaid(t flow.Topology) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n\tentry(( ))\n")
	id := map[string]string{flow.Entry: "entry"}
	for i, s := range t.Stages {
		id[s.Name] = fmt.Sprintf("s%d", i)
		named := s
		named.Name = mermaidText.Replace(oneLine(s.Name))
		fmt.Fprintf(&b, "\t%s[\"%s\"]\n", id[s.Name], stage(named, "<br>"))
	}
	for _, e := range t.Edges {
		arrow := "-->"
		if l := lines("<br>", edge(e), room(t.Way, e)); l != "" {
			arrow += `|"` + l + `"|`
		}
		fmt.Fprintf(&b, "\t%s %s %s\n", id[e.From], arrow, id[e.To])
	}
	return b.String()
}

// mermaidText writes what Mermaid, and the page that its drawing becomes part of, would read as
// more than text in the codes that Mermaid has for that. A backtick would begin Markdown.
var mermaidText = strings.NewReplacer("#", "#35;", `"`, "#quot;", "&", "#38;", "<", "#lt;", ">", "#gt;", "`", "#96;", `\`, "#92;")

// oneLine is a name without characters that end a line, or that can't be seen.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
}

// dotText quotes a text for Graphviz, in which a backslash stands for itself.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// stage is what is written on a stage.
func stage(s flow.StageReading, newline string) string {
	l := s.Name
	if s.Width > 0 {
		l += fmt.Sprintf(" × %d", s.Width)
	}
	if s.ServiceNS > 0 {
		l += fmt.Sprintf("%s%.3g µs", newline, s.ServiceNS/1000)
	}
	return l
}

// edge says what has passed an edge, and nothing of one that nothing has.
func edge(e flow.EdgeReading) string {
	var said []string
	say := func(n uint64, what string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d%s", n, what))
		}
	}
	say(e.Items, "")
	say(e.Depth, " waiting")
	say(e.Dropped, " dropped")
	say(e.Refused, " refused")
	return strings.Join(said, ", ")
}

// room says how many batches may wait in an edge, and what it does with more unless that is to
// wait. Where edges are calls, nothing waits in those that would.
func room(way flow.Way, e flow.EdgeReading) string {
	switch {
	case e.Cap == 0 || way == flow.Chain && e.Full == flow.Wait:
		return ""
	case e.Full == flow.Wait:
		return fmt.Sprintf("room %d", e.Cap)
	}
	return fmt.Sprintf("room %d, else %s", e.Cap, e.Full)
}

// lines are those of two lines that say something.
func lines(newline, first, second string) string {
	if first == "" || second == "" {
		newline = ""
	}
	return first + newline + second
}
