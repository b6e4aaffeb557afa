// Package page is the chat in a browser: IRC over WebSocket, and a web page that uses it.
//
// A [Page] is an http.Handler for the root of a host. It serves the page's files, which are plain
// JavaScript modules without a build step. At /irc it accepts WebSocket connections as IRCv3
// specifies (https://ircv3.net/specs/extensions/websocket). Each message is one line without CR LF.
// It is a text message under text.ircv3.net, or if the client requests no subprotocol, and a binary
// one under binary.ircv3.net. A client without an Origin, or from a page of the same host, may
// connect; other origins must be in Config.Origins.
//
// The Host of every request must be localhost, an IP address, or a name that Config.OwnHost knows;
// other requests are answered with 421. This protects against DNS rebinding: a page of another host
// whose name resolves to this server can access nothing.
//
// # Concurrency
//
// The session of a connection is one of [chat.Service], as for every other connection. Package
// serve runs it with one goroutine per connection: the WebSocket is passed to serve as one end of a
// [net.Pipe]. Three goroutines belong to a connection. The request's goroutine reads messages and
// writes lines into the pipe. The writer reads lines from the pipe and sends messages. serve's
// goroutine owns the session. The request's goroutine owns the writer and waits for it before the
// handler returns.
//
// The guarantees of serve hold here too. While a session pauses, its client's input is not read
// (backpressure). The output queue of a slow client is bounded by [chat.Outbox]; a client that
// exceeds it is disconnected. It reconnects and reads what it missed from the log.
//
// # The page
//
// The page identifies a message by the offset in its msgid. Each message is therefore shown once
// and in the room's order, whether it arrived live, by CHATHISTORY, or both. After a lost
// connection the page reconnects and requests the history AFTER the last message up to which it has
// everything. It resends its unacknowledged messages unless the history contains them: every
// message carries an id in the client-only tag +weir.page/id, which the server stores.
//
// What the page had sent on the lost connection must not arrive after that, and a browser cannot
// reset a WebSocket. So the page connects to /irc?client=ID with a random id of its own. Before a
// new connection of a client is served, the server ends its old one. Other clients may do the same
// with an id of 16 to 64 bytes. It is a secret: who knows it can end the connection.
//
// Files are posted to /upload with a token that the session requests. Pictures are shown if they
// are on this host. Opening a search result loads a separate part of the history, which is merged
// with the room when the two parts meet. Message text is only inserted as text nodes. The
// Content-Security-Policy allows scripts, styles, pictures and connections only from the page's own
// host.
//
// Users log in with SCRAM-SHA-256, register with an invite, or enter as guests. A link can contain
// an invite and a room, https://HOST/#invite=CODE&room=NAME. Browsers do not send the part after #
// to any server.
//
// # Files
//
// With Config.Uploads, the page accepts files with POST /upload and serves them at GET
// /file/HASH/NAME (docs/protocol.md, "Files"). ISUPPORT announces the upload URL to all clients. A
// body is written to the disk as it arrives. The headers let browsers display only pictures, sound,
// video and plain text, in a sandbox; other files are downloaded.
//
// # Limitations
//
// Browsers provide the Web Crypto API only to pages loaded over TLS or from localhost. Elsewhere
// the page logs in with PLAIN and warns that the password can be intercepted. A registration sends
// the password itself. The page stores no password: after a reload it asks again. If a guest
// reconnects before the service has noticed that the old connection is lost, the nick gets a _ at
// its end. The service does not store direct messages of guests: those sent while the connection is
// down are lost, and one whose acknowledgment was lost may be sent twice. A guest cannot delete a
// message or a reaction. Behind a proxy all clients have the proxy's address.
package page
