// Package draw draws a net of flow, as it was at one moment, as SVG and in the text languages of
// Graphviz and Mermaid.
//
// # Limitations
//
// The program that renders DOT or Mermaid text decides the positions. A net of more than some
// dozens of stages is drawn, but hard to read.
package draw

import (
	"fmt"
	"strings"
	"unicode"

	"weir/flow"
)

// DOT draws a net in Graphviz's language, with the counters and the capacity of each edge.
func DOT(t flow.Topology) string {
	var b strings.Builder
	b.WriteString("digraph net {\n\trankdir=LR;\n\tnode [shape=box, style=rounded];\n\t\"\" [shape=point];\n")
	for _, s := range t.Stages {
		named := s
		named.Name = oneLine(s.Name)
		fmt.Fprintf(&b, "\t%s [label=%s];\n", dotText(oneLine(s.Name)), dotText(stageLabel(named, "\n")))
	}
	for _, e := range t.Edges {
		fmt.Fprintf(&b, "\t%s -> %s [label=%s];\n", dotText(oneLine(e.From)), dotText(oneLine(e.To)), dotText(joinLabels("\n", countsLabel(e), capacityLabel(t.Way, e))))
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid draws a net in Mermaid's language, with the same labels.
func Mermaid(t flow.Topology) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n\tentry(( ))\n")
	id := map[string]string{flow.Entry: "entry"}
	for i, s := range t.Stages {
		id[s.Name] = fmt.Sprintf("s%d", i)
		named := s
		named.Name = mermaidText.Replace(oneLine(s.Name))
		fmt.Fprintf(&b, "\t%s[\"%s\"]\n", id[s.Name], stageLabel(named, "<br>"))
	}
	for _, e := range t.Edges {
		arrow := "-->"
		if l := joinLabels("<br>", countsLabel(e), capacityLabel(t.Way, e)); l != "" {
			arrow += `|"` + l + `"|`
		}
		fmt.Fprintf(&b, "\t%s %s %s\n", id[e.From], arrow, id[e.To])
	}
	return b.String()
}

// mermaidText escapes the characters that Mermaid, or the page that shows its drawing, would
// interpret. A backtick would start Markdown.
var mermaidText = strings.NewReplacer("#", "#35;", `"`, "#quot;", "&", "#38;", "<", "#lt;", ">", "#gt;", "`", "#96;", `\`, "#92;")

// oneLine replaces the characters of a name that end a line or are not printable.
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

// stageLabel is the text on a stage.
func stageLabel(s flow.StageStats, newline string) string {
	l := s.Name
	if s.Width > 0 {
		l += fmt.Sprintf(" × %d", s.Width)
	}
	if s.ServiceNS > 0 {
		l += fmt.Sprintf("%s%.3g µs", newline, s.ServiceNS/1000)
	}
	return l
}

// countsLabel describes the counters of an edge; it is empty for an unused one.
func countsLabel(e flow.EdgeStats) string {
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

// capacityLabel describes how many batches may wait in an edge, and what happens to more unless
// senders wait. By Chain nothing waits in a waiting edge.
func capacityLabel(way flow.Way, e flow.EdgeStats) string {
	switch {
	case e.Cap == 0 || way == flow.Chain && e.WhenFull == flow.Wait:
		return ""
	case e.WhenFull == flow.Wait:
		return fmt.Sprintf("room %d", e.Cap)
	}
	return fmt.Sprintf("room %d, else %s", e.Cap, e.WhenFull)
}

// joinLabels joins two lines, either of which may be empty.
func joinLabels(newline, first, second string) string {
	if first == "" || second == "" {
		newline = ""
	}
	return first + newline + second
}
