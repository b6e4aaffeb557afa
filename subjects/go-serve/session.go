package main

import (
	"time"

	"weir/serve"
)

// session is the service as a state machine.
type session struct {
	*job
	progress
	waitingInput []byte // input that waits for Wake
}

func (j *job) open(serve.Conn) serve.Session { return &session{job: j} }

// Input implements serve.Session.
func (s *session) Input(in []byte, out *serve.Writer) error {
	wait := s.handled(len(in), s.job)
	if wait == 0 {
		return s.finish(in, out)
	}
	s.waitingInput = append(s.waitingInput[:0], in...)
	out.PauseInput()
	out.WakeAt(time.Now().Add(wait))
	return nil
}

// Wake implements serve.Session. It is called when the wait is over, or early at a stop.
func (s *session) Wake(_ time.Time, out *serve.Writer) error { return s.finish(s.waitingInput, out) }

func (s *session) finish(p []byte, out *serve.Writer) error {
	if s.echo {
		out.Write(p)
		return nil
	}
	return s.put(p)
}

// Close implements serve.Session.
func (s *session) Close(error) {}
