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
	"strconv"
	"strings"
	"unicode"

	"weir/flow"
)

// DOT draws a net in Graphviz's language, with the label, the counters and the capacity of each
// edge.
func DOT(t flow.Topology) string {
	var b strings.Builder
	b.WriteString("digraph net {\n\trankdir=LR;\n\tnode [shape=box, style=rounded];\n\t\"\" [shape=point];\n")
	slow := slowest(t)
	for i, s := range t.Stages {
		mark := ""
		if i == slow {
			mark = ", color=\"" + slowColour + "\", penwidth=3"
		}
		fmt.Fprintf(&b, "\t%s [label=%s%s];\n", dotText(oneLine(s.Name)), dotText(strings.Join(stageLines(s, i == slow), "\n")), mark)
	}
	for _, e := range t.Edges {
		fmt.Fprintf(&b, "\t%s -> %s [label=%s];\n", dotText(oneLine(e.From)), dotText(oneLine(e.To)), dotText(strings.Join(edgeLines(t.Way, e), "\n")))
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid draws a net in Mermaid's language, with the same labels.
func Mermaid(t flow.Topology) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n\tentry(( ))\n")
	id := map[string]string{flow.Entry: "entry"}
	slow := slowest(t)
	for i, s := range t.Stages {
		id[s.Name] = fmt.Sprintf("s%d", i)
		fmt.Fprintf(&b, "\t%s[\"%s\"]\n", id[s.Name], mermaidLines(stageLines(s, i == slow)))
	}
	for _, e := range t.Edges {
		arrow := "-->"
		if lines := edgeLines(t.Way, e); len(lines) > 0 {
			arrow += `|"` + mermaidLines(lines) + `"|`
		}
		fmt.Fprintf(&b, "\t%s %s %s\n", id[e.From], arrow, id[e.To])
	}
	if slow >= 0 {
		fmt.Fprintf(&b, "\tstyle s%d stroke:%s,stroke-width:3px\n", slow, slowColour)
	}
	return b.String()
}

// slowColour is the colour of the slowest stage. Its contrast is above 3:1 on white and on black.
const slowColour = "#c2570c"

// slowest returns the index of the stage with the longest service time, or -1 if fewer than two
// stages have one.
func slowest(t flow.Topology) int {
	slow, timed := -1, 0
	for i, s := range t.Stages {
		if s.ServiceNS <= 0 {
			continue
		}
		if timed++; slow < 0 || s.ServiceNS > t.Stages[slow].ServiceNS {
			slow = i
		}
	}
	if timed < 2 {
		return -1
	}
	return slow
}

// mermaidLines joins lines, as text for Mermaid.
func mermaidLines(lines []string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = mermaidText.Replace(line)
	}
	return strings.Join(escaped, "<br>")
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

// stageLines are the lines on a stage: its name, and what it takes for an item.
func stageLines(s flow.StageStats, slowest bool) []string {
	lines := []string{oneLine(s.Name)}
	if s.Width > 0 {
		lines[0] += fmt.Sprintf(" × %d", s.Width)
	}
	if s.ServiceNS <= 0 {
		return lines
	}
	service := fmt.Sprintf("%.3g µs", s.ServiceNS/1000)
	if slowest {
		service += ", slowest"
	}
	return append(lines, service)
}

// edgeLines are the lines on an edge: its label, its counters and its capacity, as far as there are
// any.
func edgeLines(way flow.Way, e flow.EdgeStats) []string {
	var lines []string
	for _, line := range []string{oneLine(e.Label), strings.Join(countLines(e), ", "), capacityLabel(way, e)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// countLines describe the counters of an edge that are not 0, a line each.
func countLines(e flow.EdgeStats) []string {
	var lines []string
	add := func(n uint64, what string) {
		if n > 0 {
			lines = append(lines, grouped(n)+what)
		}
	}
	add(e.Items, "")
	add(e.Depth, " waiting")
	add(e.Dropped, " dropped")
	add(e.Refused, " refused")
	return lines
}

// grouped writes a number with separators of thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
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
