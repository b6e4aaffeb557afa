package main

import (
	"time"

	"weir/serve"
	"weir/subjects/internal/stackapp"
)

// services are the services that can be sessions, by port.
var services = map[int]serve.Service{
	stackapp.Echo:    {Open: func(serve.Conn) serve.Session { return echo{} }},
	stackapp.Discard: {Open: func(serve.Conn) serve.Session { return discard{} }},
}

// sessionOptions sets the read size of the discard service on other stacks.
var sessionOptions = serve.Options{ReadSize: 128 << 10}

// echo echoes its input.
type echo struct{}

func (echo) Input(in []byte, out *serve.Writer) error {
	_, err := out.Write(in)
	return err
}
func (echo) Wake(time.Time, *serve.Writer) error { return nil }
func (echo) Close(error)                         {}

// discard discards its input.
type discard struct{}

func (discard) Input([]byte, *serve.Writer) error   { return nil }
func (discard) Wake(time.Time, *serve.Writer) error { return nil }
func (discard) Close(error)                         {}
