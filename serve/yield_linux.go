package serve

import _ "unsafe" // for go:linkname

// yieldEvery is how many events a loop handles before it yields by itself.
const yieldEvery = 32

// goyield lets goroutines that wait for this loop's P run, and the loop go on after them.
//
// It is here for its side effect: the runtime sees a new turn. A P that shows none for 10 ms is interrupted
// by a signal, and the yield that follows wakes another thread to look for work: about a twentieth of what
// messages cost when they come together. runtime.Gosched wakes that thread as well; goyield does not.
// The runtime keeps the name and its signature for such users (go.dev/issue/67401).
//
//go:linkname goyield runtime.goyield
func goyield()
