package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"weir/chat"
	"weir/chat/page"
	"weir/serve"
	"weir/web/server"
)

// chatWeb is the chat's web page, served beside the port for IRC clients.
type chatWeb struct {
	Web     string   `placeholder:"HOST:PORT" help:"Where to serve the chat's web page too, and IRC over WebSocket at /irc. Without it there is none."`
	Origins []string `name:"web-origin" placeholder:"HOST" help:"Hosts whose pages may connect by WebSocket, beside the page's own; such as *.example.org."`
}

// begin serves the page, if it is asked for, until ctx ends. End waits for that, and ends it otherwise.
func (c *chatWeb) begin(ctx context.Context, t *terminal, service *chat.Service) (end func() error, err error) {
	if c.Web == "" {
		return func() error { return nil }, nil
	}
	p, err := page.New(page.Config{Service: service, Origins: c.Origins, Drain: chatDrain,
		Panicked: func(p serve.PanicError) { t.errorLine(fmt.Sprintf("%v\n%s", &p, p.Stack)) }})
	if err != nil {
		return nil, usageError{err}
	}
	s, err := server.New(p, server.Config{Addr: c.Web, ErrorLog: t.errorLine})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	fmt.Fprintf(t.err, "weir: the chat's page on %s\n", address(s.Addr(), false))
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	var failed error
	running.Go(func() { failed = s.Run(serving) })           // until stop
	undo := context.AfterFunc(ctx, func() { _ = p.Close() }) // sessions end first, and beside those of IRC clients
	return func() error {
		undo()
		err := p.Close()
		stop()
		running.Wait()
		return errors.Join(err, failed)
	}, nil
}
