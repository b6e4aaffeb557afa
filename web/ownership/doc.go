// Package ownership finds, in programs that use package web, uses of a Conn by code that no longer
// holds it.
//
// Exactly one component holds a [weir/web.Conn] at a time. It borrows the Conn for a call of its
// Handle. Code that receives a Conn from a channel of its own network holds the Conn until it sends
// it on. A later use is a race with the next component, and, when the exchange is over, with
// another exchange. There are two checks:
//
//   - [Analyzer] reads the source. It reports a borrowed Conn that a goroutine takes, that is
//     stored in a variable that outlives the call, that is sent on a channel, or that is used by a
//     function that runs later: a stream, a transform, a function passed to After. It also reports
//     uses of a Conn after the send by which it was passed on. [Check] runs it over packages, as
//     "weir vet" does.
//   - A build with the tag webdebug gives each component a Conn of its own, which panics when it is
//     used after it was passed on. The exchange is then answered by 500, and the error names the
//     component. This costs an allocation for each component and exchange, so it is for tests: go
//     test -tags webdebug.
//
// # Limitations
//
// The analyzer finds the plain cases: uses within one function, by the variables that hold the Conn
// there. It does not find a Conn that is passed to another function which keeps it, or that passes
// through an interface: the debug build and the race detector do. The analyzer assumes that every
// goroutine outlives the call, even one that is waited for, since two goroutines must not use a
// Conn at once. The debug build reports a use when it happens, not that it might.
package ownership
