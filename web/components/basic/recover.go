package basic

import (
	"errors"
	"net/http"

	"weir/flow"
	"weir/web"
)

// RecoverConfig sets what follows a panic.
type RecoverConfig struct {
	// Text is the body that the client gets, with {status} and {reason} as placeholders. Without
	// Text and File: the status and its reason phrase.
	Text string `hcl:"text,optional"`
	// File is the path of a file with the body, instead of Text. It is read when the component is
	// made.
	File string `hcl:"file,optional"`
	// Type is the Content-Type of the body. Empty: as for [Static].
	Type string `hcl:"type,optional"`

	// OnPanic receives the panic before the client is answered. The request's goroutine calls it.
	// It must not keep the Conn. Nil: not reported.
	OnPanic func(*web.Conn, *flow.PanicError)
}

// Recover is a pipe that sets the response after a panic of a component behind it, and reports the
// panic with its stage, value and stack. Put it first.
//
// Every composition, with or without Recover, limits a panic to its exchange and answers 500. That
// includes handlers of [web.FromHTTP]. A panic while a body is written (in a [web.Stream] or a
// [web.Transform]) comes after the header. It closes the connection, and the server's log reports
// it.
func Recover(cfg RecoverConfig) (web.Component, error) {
	var errorPage *errorBody
	if cfg.Text != "" || cfg.File != "" {
		var err error
		if errorPage, err = newErrorBody("recover", cfg.Text, cfg.File, cfg.Type); err != nil {
			return nil, err
		}
	}
	recovered := func(c *web.Conn) {
		panicErr, ok := errors.AsType[*flow.PanicError](c.Err())
		if !ok {
			return
		}
		if cfg.OnPanic != nil {
			cfg.OnPanic(c, panicErr)
		}
		if errorPage != nil {
			c.Answer(errorPage.body(c, http.StatusInternalServerError))
		}
	}
	return named("recover", web.Pipe(func(c *web.Conn) { c.Before(recovered) })), nil
}
