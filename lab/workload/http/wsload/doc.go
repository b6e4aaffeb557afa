// Package wsload is a load generator for WebSocket servers (RFC 6455). It sends messages on many
// connections, compares their echoes or counts what comes, and reports latencies and how well it
// kept its own schedule.
//
// Each connection is opened by an upgrade of HTTP/1.1, and stays open for the whole run. In the
// open loop messages are due as the requests of package httpload are: each due time belongs to a
// connection, and latency counts from it to the last byte of the echo. A connection may have any
// number of messages under way. A message whose connection is full is sent late, and none is left
// out. In the closed loop, which needs echoes, each connection sends its next message when it has
// the echo of the last.
//
// Echoes come in the order of their messages. An echo must have the type and the content of its
// message; contents differ between messages. A message whose echo is not complete in time has
// failed; its echo is still awaited, so that later ones are compared with their own messages. With
// Config.Any an answer may be any message, and answers come in the order of the messages.
// Without Config.Echo the messages that come are counted and not compared; then Messages are those
// sent, or without a rate those received.
//
// Pings are answered, and so is Close. A connection that the server closes or breaks is lost: what
// was due on it, or will be, fails. After the run every connection is closed by a Close frame, and
// those that the server does not answer within a second are counted.
//
// One locked thread runs all connections, as in package httpload.
//
// # Limitations
//
// Linux only; on other systems Run returns an error. TLS as in package httpload. No extensions, so
// no compression. Messages are sent in one frame each. Received text is not checked for valid
// UTF-8, unless it is compared.
package wsload
