package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/lab/result"
)

// turnBlocks says how the kernel events of each subject change with the arrival pattern, which is
// what turns the order round; nothing when they were counted under one pattern only.
func (d *digest) turnBlocks() []block {
	var items []string
	for _, name := range d.subjects {
		same := slices.DeleteFunc(slices.Clone(d.Reasons), func(r result.Reasons) bool { return r.Subject != name })
		if item := d.turn(same); item != "" {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return nil
	}
	blocks := []block{
		text("Why the order turns with the pattern: messages that come together can share a wake-up and what goes with it, and those that come apart cannot. A subject whose counts fall from one pattern to another shares more, and gains by it; one whose counts stay does the same for every message. Below: system calls per message, and wake-ups in brackets where they were seen."),
		{Items: items},
	}
	if d.firstOf(publishedGo) != "" {
		blocks = append(blocks, text("Where a goroutine per connection spends its CPU, by function: docs/where-goroutines-go.md in the project."))
	}
	return blocks
}

// turn is "a: staggered 7.40 (1.70), together 2.91 (0.30)" from the reasons of one subject with as
// many connections as the first.
func (d *digest) turn(all []result.Reasons) string {
	var parts []string
	for _, r := range all {
		if r.Connections != all[0].Connections {
			continue
		}
		part := patternName(r.Pattern) + " " + seenCount(r.Syscalls)
		if r.Wakeups >= 0 {
			part += " (" + seenCount(r.Wakeups) + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) < 2 {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s", all[0].Subject, conns(all[0].Connections), strings.Join(parts, ", "))
}
