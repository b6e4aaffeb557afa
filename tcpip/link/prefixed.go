package link

import (
	"encoding/binary"
	"fmt"
	"io"
)

// prefixLen is the length of the prefix, in bytes.
const prefixLen = 4

// Prefixed returns a connection of messages over a stream, such as a pipe to another process: each
// Write sends its bytes behind their number, as four bytes in network byte order, and each Read
// returns one message. QEMU's stream and socket network devices speak it. Messages have 1 to 65,553
// bytes. After an error the stream has lost its boundaries: every later call returns the error.
//
// One goroutine may read while another one writes.
func Prefixed(stream io.ReadWriteCloser) io.ReadWriteCloser { return &prefixed{stream: stream} }

type prefixed struct {
	stream   io.ReadWriteCloser
	out      []byte // the message being written, with its prefix
	readErr  error
	writeErr error
}

// maxMessage is the length of the longest message: an Ethernet frame of the largest packet.
const maxMessage = 65535 + frameOverhead

// Read implements [io.Reader].
func (p *prefixed) Read(b []byte) (n int, err error) {
	if p.readErr == nil {
		n, p.readErr = p.read(b)
	}
	return n, p.readErr
}

func (p *prefixed) read(b []byte) (int, error) {
	var prefix [prefixLen]byte
	if _, err := io.ReadFull(p.stream, prefix[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(prefix[:])
	if n == 0 || n > maxMessage || int(n) > len(b) {
		return 0, fmt.Errorf("link: a message of %d bytes on a stream: write messages of 1 to %d bytes behind their length of 4 bytes", n, min(len(b), maxMessage))
	}
	if _, err := io.ReadFull(p.stream, b[:n]); err != nil {
		return 0, noEOF(err)
	}
	return int(n), nil
}

// noEOF replaces the end of the stream within a message.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Write implements [io.Writer].
func (p *prefixed) Write(b []byte) (int, error) {
	if p.writeErr != nil {
		return 0, p.writeErr
	}
	if len(b) == 0 || len(b) > maxMessage {
		return 0, fmt.Errorf("link: a message of %d bytes: write 1 to %d", len(b), maxMessage)
	}
	p.out = append(binary.BigEndian.AppendUint32(p.out[:0], uint32(len(b))), b...)
	if _, p.writeErr = p.stream.Write(p.out); p.writeErr != nil {
		return 0, p.writeErr
	}
	return len(b), nil
}

// Close implements [io.Closer].
func (p *prefixed) Close() error { return p.stream.Close() }
