package main

import (
	"net"
	"time"

	"weir/serve"
)

// readSize is the largest read, equal in all subjects.
const readSize = 4096

// job is what is done with messages. It is shared and not written.
type job struct {
	config
	put func([]byte) error // writes to standard output
}

// progress is how far a connection's stream of messages has come.
type progress struct{ total int }

// handled notes that n bytes came, computes for the messages that they complete, and returns how long to
// wait for them.
func (p *progress) handled(n int, j *job) time.Duration {
	k := (p.total+n)/j.size - p.total/j.size
	p.total += n
	if k > 0 && j.work > 0 {
		for end := time.Now().Add(time.Duration(k) * j.work); time.Now().Before(end); {
		}
	}
	return time.Duration(k) * j.wait
}

// handle is the service written straight down, for coroutines.
func (j *job) handle(c net.Conn) {
	var p progress
	buf := make([]byte, readSize)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if wait := p.handled(n, j); wait > 0 && serve.Sleep(c, wait) != nil {
			return
		}
		if j.echo {
			_, err = c.Write(buf[:n])
		} else {
			err = j.put(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// session is the service as a state machine, for all other ways.
type session struct {
	*job
	progress
	held  []byte // what came before the wait
	until time.Time
}

func (j *job) open(serve.Conn) serve.Session { return &session{job: j} }

// Input implements serve.Session.
func (s *session) Input(in []byte, out *serve.Writer) error {
	wait := s.handled(len(in), s.job)
	if wait == 0 {
		return s.finish(in, out)
	}
	s.held = append(s.held[:0], in...)
	s.until = time.Now().Add(wait)
	return s.rest(out)
}

func (s *session) rest(out *serve.Writer) error {
	out.Hold()
	out.WakeAt(s.until)
	return nil
}

// Wake implements serve.Session.
func (s *session) Wake(now time.Time, out *serve.Writer) error {
	if now.Before(s.until) {
		return s.rest(out)
	}
	return s.finish(s.held, out)
}

func (s *session) finish(p []byte, out *serve.Writer) error {
	if s.echo {
		out.Write(p)
		return nil
	}
	return s.put(p)
}

// Close implements serve.Session.
func (s *session) Close(error) {}
