package stream

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// eventBlocks lists each subject's kernel events by arrival pattern, which explain a change of the
// order. It is empty if they were counted under only one pattern.
func (d digest) eventBlocks() []report.Block {
	var items []string
	for _, name := range d.Names {
		same := slices.DeleteFunc(slices.Clone(d.EventCounts), func(r result.EventCounts) bool { return r.Subject != name })
		if item := d.eventsByPattern(same); item != "" {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil
	}
	blocks := []report.Block{
		report.Paragraph("Why the order depends on the arrival pattern: messages that arrive together can share a wake-up and system calls, and messages that arrive apart cannot. A subject whose counts fall from one pattern to the other gains by that. The list shows system calls per message, with wake-ups in brackets if they were counted."),
		{Items: items},
	}
	if d.Go != "" {
		blocks = append(blocks, report.Paragraph("docs/where-goroutines-go.md in the project shows where a goroutine per connection spends its CPU, by function."))
	}
	return blocks
}

// eventsByPattern formats the counts of one subject at the first number of connections: "a:
// staggered 7.40 (1.70), together 2.91 (0.30)".
func (d digest) eventsByPattern(all []result.EventCounts) string {
	var parts []string
	for _, r := range all {
		if r.Connections != all[0].Connections {
			continue
		}
		part := format.Pattern(r.Pattern) + " " + report.EventCount(r.Syscalls)
		if r.Wakeups >= 0 {
			part += " (" + report.EventCount(r.Wakeups) + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) < 2 {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s", all[0].Subject, format.Connections(all[0].Connections), strings.Join(parts, ", "))
}
