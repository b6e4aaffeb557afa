package upgrade

import (
	"errors"
	"net"
	"os"

	"weir/serve"
)

// Handed is what one process gives to the next. Who has it owns the descriptors.
type Handed struct {
	Lock        *os.File          // of the data directory
	Listeners   []Listener        // that the old process listens on
	State       []byte            // of the service
	Connections []serve.MovedConn // and what belongs to each
}

// Listener is a listening socket.
type Listener struct {
	Name string // what the old process calls it
	File *os.File
}

// Keep is a duplicate of a listener that is handed over once that is closed.
func Keep(name string, l net.Listener) (Listener, error) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return Listener{}, errors.New("upgrade: a listener that is no TCP socket cannot be handed over")
	}
	file, err := tcp.File()
	return Listener{Name: name, File: file}, err
}

// Take makes a listener of the first of that name, which is no longer h's; nil if there is none.
func (h *Handed) Take(name string) (net.Listener, error) {
	for i, l := range h.Listeners {
		if l.Name == name {
			h.Listeners = append(h.Listeners[:i:i], h.Listeners[i+1:]...)
			defer l.File.Close()
			return net.FileListener(l.File)
		}
	}
	return nil, nil
}

// Close gives up all that is left.
func (h *Handed) Close() error {
	var errs []error
	if h.Lock != nil {
		errs = append(errs, h.Lock.Close())
	}
	for _, l := range h.Listeners {
		errs = append(errs, l.File.Close())
	}
	for _, c := range h.Connections {
		errs = append(errs, c.Close())
	}
	*h = Handed{}
	return errors.Join(errs...)
}
