package basic

import (
	"errors"
	"net/http"

	"weir/flow"
	"weir/web"
)

// RecoverConfig says what becomes of a panic.
type RecoverConfig struct {
	// what the client reads, with {status} and {reason}; without Text and File: these two
	Text string `hcl:"text,optional"`
	// a file that has it, read when the component is made; instead of Text
	File string `hcl:"file,optional"`
	Type string `hcl:"type,optional"` // its Content-Type; empty: as for [Static]

	// Panicked is told of it before the client is answered, by the goroutine of the request. It
	// must not keep the Conn. Nil: nobody is.
	Panicked func(*web.Conn, *flow.PanicError)
}

// Recover is a pipe that decides what the client reads when a component behind it has panicked, and
// has somebody told: which stage it was, the value, the stack. Put it first. That the panic costs
// no more than its exchange, which is answered by 500, is the doing of every composition, without
// this; handlers of [web.FromHTTP] included. A panic while a body is being written (in a
// [web.Stream] or a [web.Transform]) cuts the connection, for the head has gone, and is told to the
// log of the server instead.
func Recover(cfg RecoverConfig) (web.Component, error) {
	var words *page
	if cfg.Text != "" || cfg.File != "" {
		var err error
		if words, err = newPage("recover", cfg.Text, cfg.File, cfg.Type); err != nil {
			return nil, err
		}
	}
	recovered := func(c *web.Conn) {
		why, ok := errors.AsType[*flow.PanicError](c.Err())
		if !ok {
			return
		}
		if cfg.Panicked != nil {
			cfg.Panicked(c, why)
		}
		if words != nil {
			c.Answer(words.body(c, http.StatusInternalServerError))
		}
	}
	return named("recover", web.Pipe(func(c *web.Conn) { c.Before(recovered) })), nil
}
