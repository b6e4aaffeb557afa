// Package lifecycle decides what the owner of a serve.Session must do next, from the first call of
// the session to the close of its connection. It is the part that all concurrency models of serve
// and the readers of tcpip share.
//
// A [Session] is a pure state machine. Its driver tells it [Facts] about the connection, asks for
// the next [Step], carries the step out and reports the result. A [Linger] does the same for the
// lingering close, which starts when a session, or a handler, has ended. Neither has a goroutine, a
// clock, a lock or a socket: times are arguments, on the driver's clock. A driver has these, and
// the queue of output, posts and timers.
//
//	for {
//		switch step := session.Next(facts()) {
//		case lifecycle.Wake: // call the session, then session.Called
//		case lifecycle.Read: // read, call the session, then session.Called
//		case lifecycle.Wait: // wait for a fact to change, or for session.Timer
//		...
//		}
//	}
//
// # Limitations
//
//   - A machine has one owner: it is not safe for concurrent use.
//   - It calls no session, so that a driver may recover panics and survive runtime.Goexit.
//   - It keeps no output. A driver says how many bytes are left when a session ends.
package lifecycle
