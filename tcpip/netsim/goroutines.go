package netsim

import (
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// headOf matches the first line of a goroutine's stack in a bubble: its state, and the bubble.
// GOTRACEBACK=system and GODEBUG=tracebacklabels=1 add to it.
var headOf = regexp.MustCompile(`^goroutine \d+ [^[]*\[([^]]*?), synctest bubble (\d+)[] ]`)

// headLine returns the state of a goroutine and the number of its bubble, 0 outside of one.
func headLine(stack string) (state string, bubble int64) {
	m := headOf.FindStringSubmatch(stack)
	if m == nil {
		return "", 0
	}
	bubble, _ = strconv.ParseInt(m[2], 10, 64) // the pattern has digits only
	return m[1], bubble
}

// ownBubble returns the number of the caller's bubble.
func ownBubble() int64 {
	b := make([]byte, 1<<10)
	_, bubble := headLine(string(b[:runtime.Stack(b, false)]))
	return bubble
}

// leftGoroutines returns the stacks of the goroutines of the caller's bubble, beside the caller and
// those of the world.
func leftGoroutines() string {
	all := stacks()
	_, own := headLine(all[0])
	return stacksOfBubble(all[1:], own)
}

// stacksOf returns the stacks of a bubble's goroutines, beside those of the world.
func stacksOf(bubble int64) string { return stacksOfBubble(stacks(), bubble) }

func stacksOfBubble(all []string, bubble int64) string {
	var some []string
	for _, s := range all {
		if _, of := headLine(s); of == bubble && of != 0 && !isOurs(s) {
			some = append(some, s)
		}
	}
	return strings.Join(some, "\n\n")
}

// stuckGoroutines returns the stacks of a bubble's goroutines that wait for a lock, if none of the
// bubble runs: since synctest does not count them as waiting, time does not pass. Those that write
// to a connection follow: one of them may hold the lock.
func stuckGoroutines(bubble int64) string {
	var stuck, writers []string
	for _, s := range stacks() {
		state, of := headLine(s)
		switch {
		case of != bubble || of == 0:
		case strings.Contains(state, "durable"):
			if strings.Contains(s, "tcpip.(*Conn).Write(") {
				writers = append(writers, s)
			}
		case strings.HasPrefix(state, "sync.Mutex") || strings.HasPrefix(state, "sync.RWMutex"):
			stuck = append(stuck, s)
		default:
			return "" // it runs, or waits for something outside the bubble
		}
	}
	if len(stuck) == 0 {
		return ""
	}
	return strings.Join(append(stuck, writers...), "\n\n")
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
