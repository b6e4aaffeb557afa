// Package steertest lets tests steer a load.
//
// # Limitations
//
// A conversation has no timeout: a load that sends no more events and does not end hangs the test
// until its own deadline.
package steertest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
)

// Heard is an event that a steered load wrote. R is its report.
type Heard[R any] struct {
	Event  string
	AtNS   int64 `json:"at_ns"`
	Sent   int64
	Report *R
}

// Conversation is the test's side of a steered load. It belongs to the test's goroutine.
type Conversation[R any] struct {
	In io.WriteCloser

	t     *testing.T
	lines *bufio.Scanner
	ended chan error // the load's goroutine -> End; one result
}

// Begin runs steer until it returns.
func Begin[R any](t *testing.T, steer func(ctx context.Context, in io.Reader, out io.Writer) error) *Conversation[R] {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &Conversation[R]{In: inW, t: t, lines: bufio.NewScanner(outR), ended: make(chan error, 1)}
	go func() {
		err := steer(t.Context(), inR, outW)
		inR.Close()
		outW.Close()
		c.ended <- err
	}()
	return c
}

// Say sends a command.
func (c *Conversation[R]) Say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.In, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Hear reads up to the next event of the given kind, past progress events, and fails at any other.
func (c *Conversation[R]) Hear(want string) Heard[R] {
	c.t.Helper()
	for c.lines.Scan() {
		var h Heard[R]
		if err := json.Unmarshal(c.lines.Bytes(), &h); err != nil || h.Event != want && h.Event != "progress" {
			c.t.Fatalf("heard %s (%v), want %q", c.lines.Bytes(), err, want)
		}
		if h.Event == want {
			return h
		}
	}
	c.t.Fatalf("the events end, want %q: %v", want, <-c.ended)
	return Heard[R]{}
}

// Rest reads all remaining events.
func (c *Conversation[R]) Rest() (all []Heard[R]) {
	c.t.Helper()
	for c.lines.Scan() {
		var h Heard[R]
		if err := json.Unmarshal(c.lines.Bytes(), &h); err != nil {
			c.t.Fatalf("heard %s: %v", c.lines.Bytes(), err)
		}
		all = append(all, h)
	}
	return all
}

// End waits for the result after the last event has been read.
func (c *Conversation[R]) End() error {
	c.t.Helper()
	for c.lines.Scan() {
		c.t.Errorf("heard %s, want silence", c.lines.Bytes())
	}
	c.In.Close()
	return <-c.ended
}
