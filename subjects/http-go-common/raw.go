package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	acceptPause = 100 * time.Millisecond // pause when descriptors run out
	// for a client to read the answer to a request that was not read completely
	lingerTime = 500 * time.Millisecond
)

// rawServer accepts in one goroutine and has one for each connection; they end with the program.
type rawServer struct {
	page *page

	mu       sync.Mutex
	stopping bool
	open     map[net.Conn]bool // true while a request is being answered
	sessions sync.WaitGroup
}

// serveRaw answers requests until ctx ends, and finishes the requests under way.
func serveRaw(ctx context.Context, l net.Listener, p *page) {
	s := &rawServer{page: p, open: map[net.Conn]bool{}}
	accepted := make(chan struct{})
	go func() { s.accept(l); close(accepted) }()
	<-ctx.Done()
	l.Close()
	<-accepted
	s.stop()
	ended := make(chan struct{})
	go func() { s.sessions.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(drainTime):
	}
}

func (s *rawServer) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			s.set(c, false)
			s.sessions.Go(func() { s.serve(c) })
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(acceptPause)
		}
	}
}

// set records whether a connection is being answered, and reports whether it may handle another
// request.
func (s *rawServer) set(c net.Conn, busy bool) (goOn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = busy
	return !s.stopping
}

// stop ends the reads of all connections that wait for a request.
func (s *rawServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for c, busy := range s.open {
		if !busy {
			c.SetReadDeadline(time.Now())
		}
	}
}

func (s *rawServer) serve(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		c.Close()
	}()
	in := bufio.NewReaderSize(c, maxHead)
	for {
		r, err := readRequest(in)
		s.set(c, true)
		if err != nil {
			s.refuse(c, err)
			return
		}
		goOn := s.answer(c, in, r) && !r.close
		if !goOn || !s.set(c, false) {
			return
		}
	}
}

// answer writes one response, and reports whether the connection can be used for another.
func (s *rawServer) answer(c net.Conn, in *bufio.Reader, r request) bool {
	if _, err := in.Discard(int(r.body)); err != nil {
		return false
	}
	status, body := "200 OK", []byte(nil)
	switch {
	case !s.page.at(r.path):
		status = "404 Not Found"
	case r.method != "GET" && r.method != "HEAD":
		status = "405 Method Not Allowed\r\nAllow: GET, HEAD"
	default:
		var err error
		if body, err = s.page.read(); err != nil {
			status = "404 Not Found"
		}
	}
	_, err := c.Write(response(r, status, body))
	return err == nil
}

// response returns the head and the body: the page, or the text of a status other than 200.
func response(r request, status string, body []byte) []byte {
	kind := pageType
	if body == nil {
		kind, body = "text/plain; charset=utf-8", []byte(status[:3]+"\n")
	}
	connection := ""
	switch {
	case r.close:
		connection = "Connection: close\r\n"
	case r.old:
		connection = "Connection: keep-alive\r\n"
	}
	b := fmt.Appendf(make([]byte, 0, 512), "HTTP/1.1 %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n",
		status, time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), kind, len(body), connection)
	if r.method == "HEAD" {
		return b
	}
	return append(b, body...)
}

// refuse answers a malformed request; a connection that ended gets no answer. It closes after a
// linger: the client may still be sending, and an immediate close would reset the connection and
// lose the answer.
func (s *rawServer) refuse(c net.Conn, why error) {
	var bad badRequest
	if !errors.As(why, &bad) {
		return
	}
	c.Write(response(request{close: true}, string(bad), nil))
	if t, ok := c.(*net.TCPConn); ok {
		t.CloseWrite()
	}
	c.SetReadDeadline(time.Now().Add(lingerTime))
	io.Copy(io.Discard, c)
}
