// Package passed has networks of channels, with stages that touch what they have passed on, and some that do not.
package passed

import (
	"errors"

	"weir/web"
)

func straight(c *web.Conn, out chan<- *web.Conn) {
	c.SetStatus(200)
	out <- c
	c.SetStatus(500) // want `c is used here, but was passed on in line 12`
	c.SetStatus(501) // one is enough
}

func loop(in <-chan *web.Conn, out chan<- *web.Conn, part web.Component) {
	for c := range in {
		part.Handle(c)
		out <- c
	}
	for {
		c, ok := <-in
		if !ok {
			return
		}
		out <- c
	}
}

func again(c *web.Conn, in <-chan *web.Conn, out chan<- *web.Conn) {
	for range 2 {
		out <- c // want `c is used here, but was passed on in line 33`
	}
	c = <-in
	c.SetStatus(200)
	out <- c
	c = <-in
	c.SetStatus(200)
}

func sometimes(in <-chan *web.Conn, good, bad chan<- *web.Conn) {
	for c := range in {
		if c.Path() == "/" {
			good <- c
			continue
		}
		if c.Path() == "/x" {
			bad <- c
		}
		c.SetStatus(404) // want `c is used here, but was passed on in line 49`
	}
}

func offer(in <-chan *web.Conn, out, other chan<- *web.Conn) {
	for c := range in {
		select {
		case out <- c:
			println(c.Path()) // want `c is used here, but was passed on in line 58`
		case other <- c:
		default:
			c.SetStatus(503)
			c.Drop(errors.New("no room"))
		}
	}
}

func patient(c *web.Conn, out chan<- *web.Conn, tick <-chan int) {
	for {
		select {
		case out <- c:
			return
		case <-tick:
			c.SetStatus(200)
		}
	}
}

func lost(c *web.Conn, why error) {
	c.Drop(why)
	c.SetStatus(200) // want `c is used here, but was passed on in line 80`
}

func spread(in <-chan *web.Conn, part func(*web.Conn, int)) {
	for c := range in {
		go part(c, 1)
		defer func() {
			c := <-in
			c.SetStatus(200)
		}()
		println(c.Path()) // want `c is used here, but was passed on in line 86`
	}
}

func ends(c *web.Conn, out chan<- *web.Conn) {
	if c == nil {
		out <- c
		panic("no")
	}
	c.SetStatus(200)
}
