package main

import (
	"time"

	"weir/serve"
	"weir/subjects/internal/stackapp"
)

// services are those that can be sessions, by port.
var services = map[int]serve.Service{
	stackapp.Echo:    {Open: func(serve.Conn) serve.Session { return echo{} }},
	stackapp.Discard: {Open: func(serve.Conn) serve.Session { return discard{} }},
}

// sessionOptions have as much read at once as the discard service does elsewhere.
var sessionOptions = serve.Options{ReadSize: 128 << 10}

// echo sends back what comes.
type echo struct{}

func (echo) Input(in []byte, out *serve.Writer) error {
	_, err := out.Write(in)
	return err
}
func (echo) Wake(time.Time, *serve.Writer) error { return nil }
func (echo) Close(error)                         {}

// discard reads.
type discard struct{}

func (discard) Input([]byte, *serve.Writer) error   { return nil }
func (discard) Wake(time.Time, *serve.Writer) error { return nil }
func (discard) Close(error)                         {}
