package fcgi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"
)

// requestID is the ID of the only request on a connection.
const requestID = 1

// Param is a variable of a request.
type Param struct{ Name, Value string }

// Refused is an application's error in place of a complete response.
type Refused struct{ Status ProtocolStatus }

func (e Refused) Error() string { return "fcgi: " + e.Status.String() }

// Request is one request over a connection. Read returns the application's standard output. One
// goroutine may call its methods.
type Request struct {
	conn         net.Conn
	in           *bufio.Reader
	stderr       io.Writer
	idleTimeout  time.Duration
	stopWatching func() bool // stops watching the context

	content int // bytes of standard output that are left in the record
	// bytes of padding after the record
	padding int
	ended   error  // the result of further Reads; nil: the response continues
	exit    uint32 // the application's exit status, once it has ended
}

// Begin sends a request over a connection, which the Request then owns.
//
// A goroutine reads input. It ends with input, or when reading or the connection fails; a nil input
// is empty. While Read is called, stderr receives the application's standard error. The request
// fails with a timeout when no data pass for idle while it reads or writes, and at once when ctx
// ends.
func Begin(ctx context.Context, conn net.Conn, params []Param, input io.Reader, stderr io.Writer, silence time.Duration) (*Request, error) {
	r := &Request{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), stderr: stderr, idleTimeout: silence}
	r.stopWatching = context.AfterFunc(ctx, func() { _ = conn.Close() })
	var vars []byte
	for _, p := range params {
		vars = AppendParam(vars, p.Name, p.Value)
	}
	b := AppendStream(AppendBegin(nil, requestID), Params, requestID, vars)
	b = AppendRecord(b, Params, requestID, nil)
	if input == nil {
		b = AppendRecord(b, Stdin, requestID, nil)
	}
	r.extendDeadline()
	if _, err := conn.Write(b); err != nil {
		_ = r.Close()
		return nil, err
	}
	if input != nil {
		// Close ends it: its writes fail. The server makes its reads fail.
		go r.send(input)
	}
	return r, nil
}

// extendDeadline restarts the idle timeout after data have passed.
func (r *Request) extendDeadline() { _ = r.conn.SetDeadline(time.Now().Add(r.idleTimeout)) }

// send sends the input.
func (r *Request) send(input io.Reader) {
	data := make([]byte, streamContent)
	var b []byte
	for {
		n, err := input.Read(data)
		b = AppendStream(b[:0], Stdin, requestID, data[:n])
		if err == io.EOF {
			b = AppendRecord(b, Stdin, requestID, nil)
		}
		r.extendDeadline()
		if len(b) > 0 {
			if _, failed := r.conn.Write(b); failed != nil {
				return // the application may respond nevertheless
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil { // the input is incomplete
			_ = r.conn.Close()
			return
		}
	}
}

// Read implements [io.Reader]. It returns io.EOF only after the record that ends the request.
func (r *Request) Read(p []byte) (int, error) {
	if r.ended == nil {
		// The timeout covers the wait for the application, not the time that the client took
		// before.
		r.extendDeadline()
	}
	for r.ended == nil && r.content == 0 {
		if r.ended = r.next(); r.ended == io.EOF {
			r.ended = io.ErrUnexpectedEOF // the connection ended before the request
		}
		if r.ended == errEnd {
			r.ended = io.EOF
		}
	}
	if r.ended != nil {
		return 0, r.ended
	}
	n, err := r.in.Read(p[:min(len(p), r.content)])
	if n > 0 {
		r.extendDeadline()
	}
	r.content -= n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	r.ended = err
	return n, err
}

// errEnd reports the regular end of the request.
var errEnd = fmt.Errorf("fcgi: %w", io.EOF)

// next reads up to the content of the next record of standard output.
func (r *Request) next() error {
	if _, err := r.in.Discard(r.padding); err != nil {
		return err
	}
	r.padding = 0
	b, err := r.in.Peek(headerSize)
	if err != nil {
		return err
	}
	h, err := ParseHeader(b)
	if err != nil {
		return err
	}
	_, _ = r.in.Discard(headerSize)
	r.extendDeadline()
	r.padding = int(h.Padding)
	switch {
	case h.ID != requestID: // of an unknown request
	case h.Type == Stdout:
		r.content = int(h.Content)
		return nil
	case h.Type == Stderr:
		_, err = io.CopyN(r.stderr, r.in, int64(h.Content))
		return err
	case h.Type == EndRequest:
		return r.end(int(h.Content))
	}
	_, err = r.in.Discard(int(h.Content))
	return err
}

// end reads the content of the record that ends the request.
func (r *Request) end(n int) error {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return err
	}
	exit, status, err := ParseEnd(b)
	if err != nil {
		return err
	}
	if status != RequestComplete {
		return Refused{status}
	}
	r.exit = exit
	return errEnd
}

// Exit returns the application's exit status, after Read has returned io.EOF.
func (r *Request) Exit() int { return int(int32(r.exit)) }

// Close closes the connection, which also aborts the request.
func (r *Request) Close() error {
	r.stopWatching()
	return r.conn.Close()
}
