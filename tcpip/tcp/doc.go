// Package tcp is one end of a TCP connection (RFC 9293) as a pure state machine: segments, calls
// and times go in; segments, events and the next deadline come out. It has no clock, socket or
// goroutine, so any driver can run it, and tests fuzz it and run it in virtual time. The scripts in
// testdata are conversations that read like the specification.
//
// # How to drive it
//
// [Dial] or [Accept] creates a connection. The driver passes arriving segments to [Conn.Arrive] and
// the application's requests to [Conn.Write], [Conn.Read], [Conn.CloseWrite] and [Conn.Abort].
// After each call, or once after several, [Conn.Output] sends what is due through a function of the
// driver's, and [Conn.Events] returns the events for the application. [Conn.Deadline] is the time
// at which to call [Conn.Tick] if nothing happens before. Output sends the acknowledgments too, so
// a driver that calls it once after a batch of segments sends one acknowledgment for all of them.
//
// # What it does
//
//   - The states and checks of RFC 9293; challenge ACKs (RFC 5961); simultaneous open and close;
//     half-close; TIME-WAIT that a new connection can replace early (RFC 6191).
//   - Window scaling, timestamps, PAWS (RFC 7323); SACK and DSACK (RFC 2018, RFC 2883); the options
//     stand in Linux's order.
//   - Retransmission timeouts (RFC 6298, with Linux's minimum of 200 ms); loss detection by time
//     and tail loss probes (RACK-TLP, RFC 8985), or by duplicate ACKs where the peer has no SACK
//     (NewReno, RFC 6582); proportional rate reduction (RFC 6937); undo of spurious timeouts (RFC
//     3522).
//   - CUBIC (RFC 9438) with HyStart++ (RFC 9406), or Reno (RFC 5681); an initial window of ten
//     segments (RFC 6928); pacing where the round-trip time is long.
//   - Probing for the path MTU without ICMP (RFC 4821): by default after a black hole only.
//   - Nagle's algorithm in Minshall's variant, cork; delayed ACKs and quick ACKs as in Linux; silly
//     window syndrome avoidance; zero-window probes; keep-alive; user timeout.
//   - Explicit congestion notification (RFC 3168); SYN cookies (RFC 4987); urgent data, read inline
//     (RFC 6093).
//   - Buffers that tune their size; an idle connection holds none. When memory is scarce the
//     receive window shrinks; when there is none it closes.
//   - TCP Fast Open, client and server (RFC 7413).
//   - Superframes in both directions: one call handles a segment that a device merges or cuts.
//
// # Ownership
//
// A Conn has one owner at a time. The payload of an [OutSegment] points into the connection's send
// buffer and is valid until the next call.
//
// # Stability
//
// Programs that use package tcpip may rely on [Config] and [Info], and on the types of their
// fields. The rest is for those who drive a connection themselves, and may change at any time.
//
// # Limitations
//
// The window that a SYN offers is at most 65,535 bytes.
package tcp
