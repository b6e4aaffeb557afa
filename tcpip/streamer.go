package tcpip

import (
	"weir/serve"
	"weir/tcpip/tcp"
)

// Streamer is a session of Stack.Serve that sends more than fits in memory, or without end: the
// stack asks for the next piece when there is room for it.
type Streamer interface {
	serve.Session
	// Stream returns the next piece of output. It is called when all output before it is in the
	// send buffer, and never blocks, like the other methods of a session. The piece is valid until
	// the next call of the session; pieces of 64 KiB cost least. An empty piece means that there is
	// no more until Input or Wake has been called. Errors have the meaning of Input's.
	Stream() (piece []byte, err error)
}

// maxStreamPieces is how many pieces of a stream are sent before the other connections of the queue
// have their turn.
const maxStreamPieces = 4

// canStreamLocked reports whether the session is to be asked for a piece. The caller holds mu of
// the connection.
func (v *sessionConn) canStreamLocked() bool {
	return v.streamer != nil && !v.streamIdle && v.c.tcp.CanStream()
}

// streamLocked sends the next piece of the session's stream, and reports whether the session's turn
// goes on. The caller is the reader's goroutine and holds the connection's lock.
func (v *sessionConn) streamLocked() (more bool) {
	if v.streamPieces == maxStreamPieces {
		v.c.reader.queueConn(v.c)
		return false
	}
	v.streamPieces++
	var piece []byte
	err := v.call(func() (err error) { piece, err = v.streamer.Stream(); return err })
	now := v.c.s.now()
	v.streamIdle = len(piece) == 0
	if len(piece) > 0 && v.c.tcp.State() != tcp.Closed {
		v.send(now, piece)
		v.c.outputLocked(now) // while the piece is in the processor's cache
	}
	if err != nil {
		v.endSession(now, err)
	}
	return true
}
