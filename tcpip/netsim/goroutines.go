package netsim

import (
	"regexp"
	"runtime"
	"strings"
)

var bubbleOf = regexp.MustCompile(`^goroutine \d+ .*(synctest bubble \d+)`)

// leftGoroutines returns the stacks of the goroutines of the caller's bubble, beside the caller,
// those of the world and those of its stacks.
func leftGoroutines() string {
	all := stacks()
	own := bubbleOf.FindStringSubmatch(all[0])
	if own == nil {
		return ""
	}
	var left []string
	for _, s := range all[1:] {
		if m := bubbleOf.FindStringSubmatch(s); m != nil && m[1] == own[1] && !isOurs(s) {
			left = append(left, s)
		}
	}
	return strings.Join(left, "\n\n")
}

// isOurs reports whether a goroutine, given its stack, is of the world or of a stack.
func isOurs(stack string) bool {
	for _, f := range []string{"synctest.testingSynctestTest(", "internal/synctest.Run(", "netsim.(*World).run(", "tcpip.(*reader).run("} {
		if strings.Contains(stack, f) {
			return true
		}
	}
	return false
}

// stacks returns the stack of each goroutine, the caller's first.
func stacks() []string {
	for size := 1 << 16; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return strings.Split(strings.TrimSpace(string(b[:n])), "\n\n")
		}
	}
}
