// Package serve runs the connections of a network service by a concurrency model that is chosen at
// deployment: a goroutine for each connection, a bounded pool of goroutines, an event loop, a
// coroutine for each connection on an event loop, pre-forked processes, or a process for each
// connection. A [Way] names a concurrency model.
//
// A service is written once, in one of three forms. A [Session] is a state machine: bytes come in,
// bytes go out, it never blocks and needs no lock. A [Handler] is a function that receives a
// net.Conn and uses blocking reads and writes, or it opens a [Responder], which does so in turns.
// The table [Ways] says which model runs which form.
// [Run] rejects a combination that cannot work, with the reason. Examples are a service with shared
// memory that would be spread over processes, and an event loop over a listener without a file
// descriptor. A session that answers after the end of its input is a [HalfCloser].
//
// Every model keeps the same promises:
//
//   - One owner at a time (a goroutine, an event loop or a process) runs a session.
//   - Backpressure: input is not read while output waits for a slow peer, nor while the session has
//     paused its input. The memory of a connection stays bounded.
//   - A panic in a session or handler, or a call of runtime.Goexit, ends its connection and no
//     other.
//   - A reset by the peer ends a connection at once, also while its session does not read because
//     its input is paused or its output is stuck. This holds for TLS, too.
//   - A session whose output waits for a slow peer still gets its wake-ups. After the end of a
//     session, a peer that takes no output keeps its descriptor for Options.FlushTimeout. A peer
//     that takes little gets one more second for each 1,024 bytes. Then the connection is reset:
//     output that is cut short must not look complete.
//   - The lingering close follows if all output is sent: the connection is shut down for writing,
//     and its input is discarded until the peer closes, for at most Options.LingerTimeout.
//     Otherwise the kernel would answer unread input with a reset and discard output that the peer
//     has not received.
//   - Graceful stop: when the context ends, accepting stops, input that has arrived is handled, and
//     output is sent. What the peer of a session sends afterwards is not read. Run returns within
//     Options.DrainTimeout. A lingering close then ends as soon as the peer's kernel has
//     acknowledged the output.
//   - TCP keep-alive is on, as in package net. Options.IdleTimeout ends connections that transfer
//     no bytes.
//   - When file descriptors or memory run out, accepting pauses until some are free. An error of
//     accept(2) that belongs to one connection is ignored. Any other error ends Run.
//   - Connections are spread evenly over event loops and over pre-forked processes. A pre-forked
//     process that exits is started again.
//
// # Handover
//
// A run whose context ends by [ErrHandover], and that has Options.OnMove, gives its open
// connections to a later run of this process or, over a Unix socket, of another process. The peers
// notice nothing. The steps are:
//
//  1. Run stops accepting and closes its listener. The run that takes over holds a duplicate of the
//     listener, in whose queue new connections wait.
//  2. Run asks each session for its state, between two calls, also while its input is paused or its
//     output waits: see [Movable]. Bytes that the kernel has received and that are not read yet
//     stay in the socket.
//  3. Options.OnMove receives the descriptor, the unsent output and the state. From then on the old
//     Conn is dead: Send returns false.
//  4. A connection whose session has already ended is closed, even if its peer has not taken all
//     output. A session that refuses or cannot move, and a connection without a descriptor, is
//     ended as by a stop.
//  5. Run returns, within Options.DrainTimeout: nil if every connection was moved or has ended.
//
// A run starts with the connections in Options.Adopt, before it accepts. Service.Adopt opens each
// of them, and their unsent output is sent first. A wake-up time that the session had set is lost.
// Multi-process models hand nothing over, and handlers cannot be handed over.
//
// # Event loops
//
// Readiness is edge-triggered. Loops wait for the kernel without notifying the Go scheduler, which
// makes them cost as little as event loops in C. poller_linux.go states the conditions for that at
// the raw wait, and a test holds them.
//
// # Handlers on an event loop
//
// A handler on a coroutine has a net.Conn whose Read and Write yield to the loop. Without a
// coroutine, the loop calls the turns of a Responder: a Read or Write that would wait gives the
// loop to another goroutine. They belong to
// the handler. Close, the deadlines and the addresses are for any goroutine, and end or change a
// call that waits. Between [LeaveLoop] and [ReturnToLoop] the handler is a goroutine, which may
// block, and any goroutine may read and write, too.
//
// crypto/tls runs on that net.Conn as it is: a handler calls tls.Server on it, by every model.
// Sleep and OffLoop find the connection inside a tls.Conn. A handshake computes for some 0.2 ms,
// during which its loop serves no other connection, unless it runs by OffLoop.
//
// # Limitations
//
//   - Event loops, pre-forking and handover need Linux. Run rejects them on other systems.
//   - Each loop keeps one of GOMAXPROCS busy as the Go scheduler sees it. Run raises GOMAXPROCS to
//     the running loops plus one and leaves it there.
//   - On a loop, a call that blocks other than by its net.Conn, [Sleep], [Await] or [OffLoop]
//     delays every connection of that loop. The watchdog (Options.OnStall) names it.
//   - Go cannot fork: a child process is the program started again, at the cost of a start each.
//   - A TLS listener has no file descriptor to wait for and needs Goroutine or Pool. There, a
//     session gets no wake-up while a write waits for its peer, because an interrupted write breaks
//     TLS.
//   - The counters of child processes stay in the child processes.
package serve
