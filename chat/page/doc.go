// Package page is the chat in a browser: IRC over WebSocket, and a web page that speaks it.
//
// A [Page] is an http.Handler for the root of a host. It serves the page's files, which are plain
// JavaScript modules and need no build step, and at /irc takes WebSocket connections as IRCv3 has
// them (https://ircv3.net/specs/extensions/websocket): one line a message, without CR LF, in text
// messages (text.ircv3.net, also for who asks for no subprotocol) or binary ones
// (binary.ircv3.net). Any client that speaks this may connect, from a page of the same host or
// without an Origin; others only if Config.Origins lets them.
//
// Every request has to name the page's host by localhost, an IP address, or a name that
// Config.OwnHost knows; others are answered 421. So a page of another host whose name was made to
// lead here (DNS rebinding) reaches nothing.
//
// # How a connection is run
//
// Its session is one of [chat.Service], like those of every other connection, and is run by package
// serve with a goroutine for each connection: each WebSocket is handed to it as one end of a
// [net.Pipe]. Three goroutines belong to a connection. The one of the request reads messages and
// writes lines into the pipe; the writer reads lines out of it and sends messages; serve's owns the
// session. The first owns the writer: it waits for it before the request's handler returns.
//
// So serve's promises hold here too. While a session holds, nothing is read from its client. What
// waits for a client that takes nothing is bounded by [chat.Outbox], and such a client is cut off;
// it comes back, and the log has what it missed.
//
// # The page
//
// It keeps what it shows by the offset in each message's id, so that a message is shown once, in
// the room's order, whether it came live, by CHATHISTORY, or both. When a connection is lost it
// comes back by itself, asks for everything AFTER the last message up to which it has seen all, and
// sends what was not acknowledged, unless it finds it in there: what it sends carries an id of its
// own in the client-only tag +weir.page/id, which is stored. Files are sent to /upload with a token
// that the session asks for; pictures among them are shown, from this host alone. Who follows a
// search result looks at a part of the history by itself, which becomes one with the room where the
// two meet. Text is only ever put into text nodes, its Content-Security-Policy allows no script,
// style, picture or connection but from its own host.
//
// One signs in by SCRAM-SHA-256, registers with an invite, or comes in as a guest. A link may carry
// an invite and a room, https://HOST/#invite=CODE&room=NAME: no server is told what stands behind
// the #.
//
// # Files
//
// With Config.Uploads the page's host takes files, POST /upload, and gives them to who has their
// link, GET /file/HASH/NAME (docs/protocol.md, "Files"): for clients of any kind, which are told so
// by ISUPPORT. A body is written to the disk as it comes. Browsers are told to show only pictures,
// sound, video and plain text, in a sandbox, and to save all else.
//
// # Limitations
//
// Browsers keep their cryptography from pages that came neither over TLS nor from this machine:
// there the page signs in by PLAIN, and says that the password can be read on the way. A
// registration sends the password itself. The page keeps no password: when it is loaded again it
// asks for it. A guest whose last connection the service still believes in comes back with a _
// behind the name. Direct messages of guests are not stored by the service, so that what is said in
// them while the connection is down is lost, and a message whose acknowledgement was lost may be
// sent again. A guest cannot take back a message or a reaction. Behind a proxy all clients have the
// proxy's address.
package page
