package main

import (
	"errors"
	"net"

	"weir/serve"
)

// handle is the service in blocking style.
func (j *job) handle(c net.Conn) {
	var p progress
	buf := make([]byte, readSize)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if wait := p.handled(n, j); wait > 0 {
			// A stop ends the wait early; what was read is still delivered.
			if err := serve.Sleep(c, wait); err != nil && !errors.Is(err, serve.ErrStopped) {
				return
			}
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
