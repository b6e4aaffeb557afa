package fcgi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"
)

// id is the request's on its connection, where it is the only one.
const id = 1

// Param is a variable of a request.
type Param struct{ Name, Value string }

// Refused is that the application has not taken, or not finished, a request.
type Refused struct{ Status ProtocolStatus }

func (e Refused) Error() string { return "fcgi: " + e.Status.String() }

// Request is one request over a connection. Read gives what the application writes to its standard
// output. Its methods are for one goroutine.
type Request struct {
	conn    net.Conn
	in      *bufio.Reader
	stderr  io.Writer
	silence time.Duration
	forget  func() bool // the context

	content int // bytes of standard output that are left of the record
	padding int
	ended   error  // what Read gives from now on
	exit    uint32 // the application's, once it has ended
}

// Begin sends a request over a connection that it then owns. Input is read by a goroutine, which
// ends when input does, or when reading it or the connection fails; nil: there is none. What the
// application says to its standard error goes to stderr, as long as Read is called. When nothing
// has passed in either direction for silence, while Read waits or input is sent, that fails with a
// timeout; when ctx ends, at once.
func Begin(ctx context.Context, conn net.Conn, params []Param, input io.Reader, stderr io.Writer, silence time.Duration) (*Request, error) {
	r := &Request{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), stderr: stderr, silence: silence}
	r.forget = context.AfterFunc(ctx, func() { _ = conn.Close() })
	var vars []byte
	for _, p := range params {
		vars = AppendParam(vars, p.Name, p.Value)
	}
	b := AppendStream(AppendBegin(nil, id), Params, id, vars)
	b = AppendRecord(b, Params, id, nil)
	if input == nil {
		b = AppendRecord(b, Stdin, id, nil)
	}
	r.passed()
	if _, err := conn.Write(b); err != nil {
		_ = r.Close()
		return nil, err
	}
	if input != nil {
		// its owner is the request: Close has its writes fail, and the server its reads
		go r.send(input)
	}
	return r, nil
}

// passed is that something has.
func (r *Request) passed() { _ = r.conn.SetDeadline(time.Now().Add(r.silence)) }

// send sends the input.
func (r *Request) send(input io.Reader) {
	data := make([]byte, aligned)
	var b []byte
	for {
		n, err := input.Read(data)
		b = AppendStream(b[:0], Stdin, id, data[:n])
		if err == io.EOF {
			b = AppendRecord(b, Stdin, id, nil)
		}
		r.passed()
		if len(b) > 0 {
			if _, failed := r.conn.Write(b); failed != nil {
				return // the application may answer all the same
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil { // half an input is none
			_ = r.conn.Close()
			return
		}
	}
}

// Read implements [io.Reader]. The end is io.EOF only when the application has said that it is.
func (r *Request) Read(p []byte) (int, error) {
	if r.ended == nil {
		// what counts is how long the application is waited for, not how long the client took for
		// what came before
		r.passed()
	}
	for r.ended == nil && r.content == 0 {
		if r.ended = r.next(); r.ended == io.EOF {
			r.ended = io.ErrUnexpectedEOF // the connection's end is not the request's
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
		r.passed()
	}
	r.content -= n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	r.ended = err
	return n, err
}

// errEnd is that the request has ended as it should.
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
	r.passed()
	r.padding = int(h.Padding)
	switch {
	case h.ID != id: // of no request that we know
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

// Exit is the application's exit status, once Read has given io.EOF.
func (r *Request) Exit() int { return int(int32(r.exit)) }

// Close ends the request, answered or not: the application sees that nobody listens.
func (r *Request) Close() error {
	r.forget()
	return r.conn.Close()
}
