// Package front handles what comes before a chat session: TLS, and the PROXY header with which a
// proxy states its client's address.
//
// A [Listener] returns connections after their TLS handshake, with the fingerprint of the client's
// certificate for SASL EXTERNAL. A [Door] opens the sessions of all listeners, in clear text and
// TLS. They share one chat.Service in one process, each under its own concurrency model. TLS
// connections have no file descriptor to poll, so they need serve.Goroutine or serve.Pool;
// serve.Run rejects the others.
//
// # Proxies
//
// Connections from trusted addresses must start with a header of the PROXY protocol, version 1 or 2
// (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt). Without it they are closed,
// because an optional header could be forged. The client address of the header then holds for
// everything: limits, bans and logs. If the header says that the client uses TLS, the session
// counts as secure. Headers from other addresses are not accepted. In clear text the session itself
// reads the header as its first input. So these connections can use every concurrency model and can
// be handed over.
//
// # Limits
//
// A handshake may take 10 seconds. At most 128 run at once, 16 of one address. Further connections
// wait in the kernel's queue, and for them the oldest handshake is aborted once it has taken a
// quarter of its time. After the handshake chat.Service counts a connection as any other.
//
// # Limitations
//
// A client certificate is not verified, only that the client has its key: accounts list
// fingerprints. Certificates that a proxy has seen are not used.
package front
