// Package ownership finds, in programs that use package web, where a Conn is touched by somebody
// who no longer holds it.
//
// Exactly one component holds a [weir/web.Conn] at a time: it is lent to a component for a call of
// its Handle, and who receives one from a channel of a network of his own holds it until he sends
// it on. A Conn that is touched later is a race with the next component, and, when the exchange is
// over, with another exchange. Two things look for that:
//
//   - [Analyzer] reads the source. It reports a lent Conn that a goroutine takes, that is stored in
//     what outlives the call, that is sent on a channel, or that is used by a function which is run
//     later: a stream, a transform, a function given to After. And it reports uses of a Conn behind
//     the send by which it was passed on. [Check] runs it over packages, as "weir vet" does.
//   - A build with the tag webdebug gives each component a Conn of its own, which panics when it is
//     touched after it was passed on: the exchange is then answered by 500, and the error names the
//     component. It costs an allocation for each component and exchange, so it is for tests: go
//     test -tags webdebug.
//
// # Limitations
//
// The analyzer finds the plain cases: what happens in one function, under the names that the
// function has for the Conn and for what holds it. A Conn that is handed to another function which
// keeps it, or that goes through an interface, is for the debug build and the race detector to
// find. It takes every goroutine for one that outlives the call, also one that is waited for: a
// Conn is not for two goroutines at a time. A debug build sees a use when it happens, and not that
// it might.
package ownership
