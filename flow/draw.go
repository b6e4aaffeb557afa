package flow

import (
	"fmt"
	"strings"
)

// DOT draws the net in Graphviz's language, with what has passed each edge.
func (t Topology) DOT() string {
	var b strings.Builder
	b.WriteString("digraph net {\n\trankdir=LR;\n\tnode [shape=box, style=rounded];\n\t\"\" [shape=point];\n")
	for _, s := range t.Stages {
		fmt.Fprintf(&b, "\t%q [label=%q];\n", s.Name, s.label("\n"))
	}
	for _, e := range t.Edges {
		fmt.Fprintf(&b, "\t%q -> %q [label=%q];\n", e.From, e.To, e.label())
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid draws the net in Mermaid's language.
func (t Topology) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n\tentry(( ))\n")
	id := map[string]string{Entry: "entry"}
	for i, s := range t.Stages {
		id[s.Name] = fmt.Sprintf("s%d", i)
		fmt.Fprintf(&b, "\t%s[\"%s\"]\n", id[s.Name], mermaidText(s.label("<br>")))
	}
	for _, e := range t.Edges {
		if l := e.label(); l != "" {
			fmt.Fprintf(&b, "\t%s -->|\"%s\"| %s\n", id[e.From], mermaidText(l), id[e.To])
		} else {
			fmt.Fprintf(&b, "\t%s --> %s\n", id[e.From], id[e.To])
		}
	}
	return b.String()
}

// mermaidText is s as it may stand between Mermaid's quotes.
func mermaidText(s string) string { return strings.ReplaceAll(s, `"`, "#quot;") }

func (s StageReading) label(newline string) string {
	l := s.Name
	if s.Width > 1 {
		l += fmt.Sprintf(" × %d", s.Width)
	}
	if s.ServiceNS > 0 {
		l += fmt.Sprintf("%s%.3g µs", newline, s.ServiceNS/1000)
	}
	return l
}

// label says what has passed an edge, and nothing of one that nothing has.
func (e EdgeReading) label() string {
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
