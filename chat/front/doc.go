// Package front is what stands in front of a chat's sessions: TLS, and the header by which a proxy
// says who its client is.
//
// A [Listener] gives connections whose TLS handshake is over, with the fingerprint of the client's
// certificate, by which SASL EXTERNAL lets people in. A [Door] opens the sessions of all listeners,
// those in clear text and those of Listener: beside one chat.Service they run in one process, each
// in its own way. Connections by TLS have no file descriptor to wait on, so they run under
// serve.Goroutine or serve.Pool; serve.Run says so to who tries another way.
//
// # Proxies
//
// Connections from trusted addresses begin by a header of the PROXY protocol, version 1 or 2
// (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt), which is binding: without it they
// are ended, because whoever guesses can be lied to. What a header says of the client's address is
// then true for everything: limits, bans and logs; and a proxy that says that its client came by
// TLS makes a session a secure one. Headers from elsewhere are not understood. In clear text the
// header is read by the session itself, as its first input, so that these connections can be run in
// every way, and be handed over.
//
// # Limits
//
// A handshake may take 10 seconds, and 128 may be under way at once, 16 of one address; further
// connections wait in the kernel's queue, for which the oldest handshake has to go once it has
// taken a quarter of its time. Who has shaken hands is counted by chat.Service, as everybody.
//
// # Limitations
//
// A client's certificate is not verified, only that the client holds its key: accounts name
// fingerprints. Certificates that a proxy has seen are not taken over.
package front
