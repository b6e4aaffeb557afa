package main

import (
	"net"
	"sync"
)

// The services of a stack under test.
const (
	echoPort    = 7
	discardPort = 9
	sourcePort  = 19
)

// serve answers at all services until the process ends. A connection has a goroutine.
func (h *host) serve() error {
	for port, service := range map[uint16]func(net.Conn){echoPort: echo, discardPort: discard, sourcePort: source} {
		l, err := h.listen(port)
		if err != nil {
			return err
		}
		go accept(l, service)
	}
	return nil
}

func accept(l net.Listener, service func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			service(c)
		}()
	}
}

// echoBytes is small: it is a part of what an idle connection takes.
const echoBytes = 512

func echo(c net.Conn) {
	buffer := make([]byte, echoBytes)
	for {
		n, err := c.Read(buffer)
		if n > 0 {
			if _, err := c.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// bulkBytes is the length of reads and writes in bulk.
const bulkBytes = 256 << 10

var sinks = sync.Pool{New: func() any { return new([bulkBytes]byte) }}

func discard(c net.Conn) {
	buffer := sinks.Get().(*[bulkBytes]byte)
	defer sinks.Put(buffer)
	for {
		if _, err := c.Read(buffer[:]); err != nil {
			return
		}
	}
}

var zeros [bulkBytes]byte

func source(c net.Conn) {
	for {
		if _, err := c.Write(zeros[:]); err != nil {
			return
		}
	}
}
