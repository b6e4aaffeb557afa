package serve

import _ "unsafe" // for go:linkname

// yieldEvery is how many events a loop handles before it yields.
const yieldEvery = 32

// goyield yields to goroutines that wait for this loop's P; the loop continues after them.
//
// It is called for its side effect: the runtime sees a new scheduler tick. The runtime interrupts a
// P without one for 10 ms by a signal, and the yield that follows wakes another thread to look for
// work (work stealing). That is about a twentieth of the cost of messages that come together.
// runtime.Gosched wakes that thread as well; goyield does not. The runtime keeps the name and its
// signature for such users (go.dev/issue/67401).
//
//go:linkname goyield runtime.goyield
func goyield()
