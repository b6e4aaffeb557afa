// Package lent has components that keep what they are lent, and some that do not.
package lent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"weir/web"
)

var last *web.Conn

func use(...any) {}

func work(c *web.Conn) {}

// A goroutine.

type logger struct{}

func (l *logger) Handle(c *web.Conn) {
	go func() { // want `c is taken by a goroutine`
		fmt.Fprintln(io.Discard, c.Path())
	}()
}

var taking = []web.Component{
	web.Pipe(func(c *web.Conn) {
		go work(c) // want `c is taken by a goroutine`
	}),
	web.Pipe(func(c *web.Conn) {
		go c.SetStatus(200) // want `c is taken by a goroutine`
	}),
	web.Pipe(func(c *web.Conn) {
		tell := func() { use(c.Path()) }
		go tell() // want `c is taken by a goroutine`
	}),
	web.Pipe(func(c *web.Conn) {
		var wg sync.WaitGroup
		wg.Go(func() { c.SetStatus(200) }) // want `not for two at a time`
		wg.Wait()
	}),
	web.Pipe(func(c *web.Conn) {
		time.AfterFunc(time.Second, func() { c.SetStatus(200) })    // want `runs when another component has the Conn`
		context.AfterFunc(c.Context(), func() { c.SetStatus(200) }) // want `runs when another component has the Conn`
	}),
	web.Pipe(func(c *web.Conn) {
		path := c.Path()
		go func() { use(path) }()
		go use(c.Path()) // what it is given is taken out before
		func() { c.SetStatus(200) }()
		defer func() { c.SetStatus(200) }()
	}),
}

// Something that outlives the call.

type keeper struct {
	conn *web.Conn
	all  []*web.Conn
	by   map[string]*web.Conn
	job  *job
	f    func()
}

type job struct{ c *web.Conn }

func (k *keeper) Handle(c *web.Conn) {
	k.conn = c                        // want `c is stored in what outlives the call`
	k.all = append(k.all, c)          // want `c is stored`
	k.by[c.Path()] = c                // want `c is stored`
	k.all[0] = c                      // want `c is stored`
	k.job = &job{c: c}                // want `c is stored`
	k.f = func() { c.SetStatus(200) } // want `c is stored`
	last = c                          // want `c is stored`
	j := job{c}
	use(j)
	k.job = &j // want `c is stored`
	var mine job
	mine.c = c
	k.conn = nil
	k.by[c.Path()] = nil
	_ = c
}

func counting() web.Component {
	var seen any
	return web.Pipe(func(c *web.Conn) {
		seen = c // want `c is stored`
		seen = c.Path()
		use(seen)
	})
}

// A channel.

func queue(out chan *web.Conn, jobs chan job, anything chan any) []web.Component {
	return []web.Component{
		web.Pipe(func(c *web.Conn) {
			out <- c // want `c is sent on a channel`
		}),
		web.Pipe(func(c *web.Conn) {
			select {
			case jobs <- job{c}: // want `c is sent on a channel`
			default:
			}
		}),
		web.Pipe(func(c *web.Conn) { anything <- c.Path() }),
		web.When("x", func(c *web.Conn) bool {
			anything <- any(c) // want `c is sent on a channel`
			return true
		}, nil),
	}
}

// A function that runs later.

var shout = web.Filter(func(c *web.Conn) web.Transform {
	return func(next io.Writer) io.WriteCloser { // want `c is used by what this returns`
		c.SetStatus(200)
		return nil
	}
})

var named = web.Filter(func(c *web.Conn) web.Transform {
	t := func(next io.Writer) io.WriteCloser { return &wrapped{c} }
	return t // want `c is used by what this returns`
})

type wrapped struct{ c *web.Conn }

func (w *wrapped) Write(p []byte) (int, error) { return len(p), nil }
func (w *wrapped) Close() error                { return nil }

var streaming = web.Source(func(c *web.Conn) web.Body {
	if c.Path() == "/" {
		return web.Stream(-1, func(w io.Writer) error { // want `c is used by a function that runs when another component has the Conn`
			<-c.Context().Done()
			return nil
		})
	}
	ctx := c.Context()
	return web.Stream(-1, func(w io.Writer) error { <-ctx.Done(); return nil }).OnClose(func() { use(ctx) })
})

var hooks = web.Pipe(func(c *web.Conn) {
	c.After(func(*web.Conn) { use(c.Path()) }) // want `use the Conn that the function is given`
	c.Before(func(last *web.Conn) { use(c) })  // want `use the Conn that the function is given`
	c.After(func(c *web.Conn) { use(c.Path()) })
	c.After(work)
	c.SetValue("me", c) // want `c is left for other components`
	c.SetValue("path", c.Path())
	c.Transform(web.Piped(func(w io.Writer, r io.Reader) error { // want `c is used by a function that runs`
		c.SetStatus(200)
		return nil
	}))
	c.Hijack(func(net.Conn, *bufio.ReadWriter) { c.SetStatus(200) }) // want `c is used by a function that runs`
	web.String("").OnClose(func() { c.SetStatus(200) })              // want `c is used by a function that runs`
})

// Helpers that give it back are no harm.

func with(c *web.Conn) *web.Conn { c.SetStatus(200); return c }
