package engine

import (
	"errors"
	"io"
	"os"
	"sync"

	"weir/web/http1"
)

// lastPiece is the number of bytes of a file that are kept back until it is known that the file is
// unchanged.
const lastPiece = 1 << 10

// maxCopied is the number of bytes of content that are read, and given to the connection, at once.
const maxCopied = 64 << 10

// copyBuffers holds buffers for content that is neither in memory nor sent by the kernel.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, maxCopied); return &b }}

// RespondFile is [response.Respond] for length bytes of f from offset. It moves the file's
// position. A file that is shorter gives io.ErrUnexpectedEOF, and the connection ends. verify, if
// not nil, is called after the last bytes were read and before they are sent: they are not sent if
// it returns an error, and RespondFile returns that error.
func (w *response) RespondFile(status int, f *os.File, offset, length int64, verify func() error) (sent int64, err error) {
	w.startHead(status)
	w.sniffs, w.declared = false, length
	w.endHead(length, nil)
	if w.framing.Framing == http1.NoContent {
		w.flush()
		return 0, w.failed
	}
	s := &fileSender{response: w, file: f, offset: offset, left: length, verify: verify}
	err = s.send()
	w.written = length - s.left
	if err != nil && w.failed == nil {
		w.failed = err
	}
	return w.written, err
}

// fileSender sends a section of a file behind a head.
type fileSender struct {
	response *response
	file     *os.File
	offset   int64 // of what is to be sent next
	left     int64 // bytes to be sent
	verify   func() error
}

// send joins the first bytes with the head in one write. The kernel sends the rest, without the
// last piece if the file must be verified.
func (s *fileSender) send() error {
	w := s.response
	if first := int64(maxJoined - len(w.out)); first > 0 {
		if err := s.appendNext(min(first, s.left)); err != nil {
			return err
		}
	}
	if w.flush(); w.failed != nil || s.left == 0 {
		return w.failed
	}
	last := int64(0)
	if s.verify != nil {
		last = min(s.left, lastPiece)
	}
	if err := s.copy(s.left - last); err != nil || last == 0 {
		return err
	}
	if err := s.appendNext(last); err != nil {
		return err
	}
	w.flush()
	return w.failed
}

// appendNext appends the next n bytes of the file to the output. If they are the last ones, it
// verifies the file first.
func (s *fileSender) appendNext(n int64) error {
	out := s.response.out
	start := len(out)
	out = append(out, make([]byte, n)...)
	read, err := s.file.ReadAt(out[start:], s.offset)
	if int64(read) < n {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if s.left == n && s.verify != nil {
		if err := s.verify(); err != nil {
			return err
		}
	}
	s.response.out = out
	s.offset, s.left = s.offset+n, s.left-n
	return nil
}

// copy sends the next n bytes, by the kernel if it can.
func (s *fileSender) copy(n int64) error {
	sent, err := s.response.exchange.conn.sendFile(s.file, s.offset, n)
	if errors.Is(err, errors.ErrUnsupported) {
		buffer := copyBuffers.Get().(*[]byte)
		defer copyBuffers.Put(buffer)
		sent, err = io.CopyBuffer(writerFunc(s.response.exchange.conn.write), io.NewSectionReader(s.file, s.offset, n), *buffer)
	}
	s.offset, s.left = s.offset+sent, s.left-sent
	if err == nil && sent < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte) (int, error)

// Write implements [io.Writer].
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
