// Package tcp is one end of a TCP connection (RFC 9293), as a pure state machine: segments, calls
// and times go in; segments, events and the next deadline come out. It knows no clock, socket or
// goroutine, so it can be driven by anything, fuzzed, and tested in virtual time (testdata has
// conversations that read like the specification).
//
// # How to drive it
//
// [Dial] or [Accept] make a connection. Segments that come for it are given to [Conn.Arrive], the
// application's wishes to [Conn.Write], [Conn.Read], [Conn.CloseWrite] and [Conn.Abort]. After each
// call, or once after several, [Conn.Output] sends what is then due, by a function of the driver's,
// [Conn.Events] says what the application is to be told, and [Conn.Deadline] when to call
// [Conn.Tick] if nothing happens before. Since acknowledgments are sent by Output, a driver that
// calls it once after a batch of segments sends one acknowledgment for all of them.
//
// # What it does
//
//   - The states and checks of RFC 9293; challenge acknowledgments (RFC 5961); simultaneous open
//     and close, half-close; TIME-WAIT that makes room (RFC 6191).
//   - Window scaling, timestamps, PAWS (RFC 7323); SACK and duplicates told of (RFC 2018, RFC 2883);
//     the options' order is Linux's.
//   - Retransmission times (RFC 6298, with Linux's least of 200 ms); loss found by time, and tails
//     probed (RACK-TLP, RFC 8985), or by duplicates where the peer has no SACK (RFC 6582); recovery
//     paced by what arrives (RFC 6937); timeouts that were for nothing undone (RFC 3522).
//   - CUBIC (RFC 9438) with HyStart++ (RFC 9406), or Reno (RFC 5681); initial window of ten
//     segments (RFC 6928); windows are paced where the round trip is long.
//   - Nagle's algorithm in Minshall's variant, cork; delayed and quick acknowledgments as Linux;
//     silly windows avoided; closed windows probed; keep-alive; user timeout.
//   - Explicit congestion notification (RFC 3168); SYN cookies (RFC 4987); urgent data, read in
//     line (RFC 6093).
//   - Buffers that tune themselves; an idle connection holds none. Where memory is short, windows
//     are small, and closed where there is none.
//   - Superframes both ways: what a device merges or cuts is one call.
//
// # Ownership
//
// A Conn has one owner at a time. The bytes of a [Sending] are the connection's ring, and live
// until its next call.
//
// # Limitations
//
// No Fast Open. The window of a SYN is not above 65,535 bytes.
package tcp
