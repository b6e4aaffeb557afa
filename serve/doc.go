// Package serve runs the connections of a network service in the way that is chosen when it is
// deployed: a goroutine for each, a bounded pool, an event loop, a coroutine for each on an event
// loop, pre-forked processes, or a process for each.
//
// A service is written once, in one of two forms. A [Session] is a state machine: bytes come in,
// bytes go out, it never blocks and needs no lock. A [Handler] is a function that is given a
// net.Conn and reads and writes straight down. The table [Ways] says which way runs which form.
// What does not fit (a service whose connections share memory, spread over processes; an event loop
// over a listener that has no file descriptor) is refused when it starts, with the reason. A
// session that is to answer after the end of its input is a [HalfCloser].
//
// Every way keeps the same promises:
//
//   - A session has one owner at a time. Input is not read while output waits for a slow peer or
//     while the session holds, so that the memory of a connection stays bounded.
//   - A panic in a session or handler, or a call of runtime.Goexit, ends its connection and no
//     other.
//   - A connection whose session does not read, because it holds or because its output is stuck,
//     is ended at once by a reset of its peer, in TLS too.
//   - A session that waits for a slow peer is still woken. Once it has ended, a peer that takes no
//     output keeps its descriptor for Options.Linger, and a peer that takes little for that and a
//     second for each 1,024 bytes.
//   - The lingering close follows: the connection is shut down for writing, and its input
//     discarded until the peer closes, for at most Options.LingerClose. A kernel that closes a
//     connection with unread input discards output that the peer has not received.
//   - When the context ends, accepting stops, input that has arrived is handled, output is sent,
//     and Run returns within Options.Drain. A lingering close then ends when the peer's kernel has
//     acknowledged the output.
//   - TCP keep-alive is on, as in package net. Options.Idle ends connections on which nothing
//     passes.
//   - When file descriptors or memory run out, accepting pauses until some are free. An error of
//     accept(2) that belongs to one connection is passed over. Any other error ends Run.
//   - Connections are spread evenly over loops and over pre-forked processes. A pre-forked process
//     that ends is started again.
//
// # Handing over
//
// A run whose context ends by [ErrHandOver], and that has Options.Moved, gives its connections away
// instead of ending them, to a later run of this process or, by way of a Unix socket, of another;
// their peers notice nothing. The order is this:
//
//  1. Run stops accepting and closes its listener. Who is to accept on holds a duplicate of it, in
//     whose queue new connections wait.
//  2. Each session is asked for its state, between two calls, also while it holds or its output
//     waits: see [Movable]. What the kernel has received and nobody has read stays in the socket.
//  3. Options.Moved is given the descriptor, what was not sent yet, and the state. Whoever held the
//     Conn reaches nobody by it any more.
//  4. Who has ended before, whose peer has not taken all, is closed. Who refuses or cannot move,
//     and whoever has no descriptor, is ended as by a stop.
//  5. Run returns, within Options.Drain: nil when all were moved or ended.
//
// A run begins with Options.Adopt, before it accepts: each is opened by Service.Adopt, and what was
// not sent is sent first. A time that the session had asked to be woken at is forgotten. The ways
// that split hand nothing over, nor do handlers.
//
// Event loops wait for the kernel without telling the Go scheduler, which is what makes them cost
// as little as loops in C; the conditions for that are written at the raw wait (poller_linux.go)
// and kept by a test.
//
// # Limitations
//
// Event loops, pre-forking and handing over need Linux; other systems refuse them. Each loop keeps
// one of GOMAXPROCS busy as the Go scheduler sees it: Run raises GOMAXPROCS to the running loops
// plus one and leaves it there. On a loop, whatever blocks other than by its net.Conn, [Sleep] or
// [Await] holds up every connection of that loop; the watchdog (Options.Stalled) names it. Go
// cannot fork: processes are the program started again, at the cost of a start each. TLS has no
// file descriptor to wait for and needs a way that blocks; there, a session is not woken while a
// write waits for its peer, because a write that is interrupted breaks TLS. The counters of child
// processes stay in the children.
package serve
