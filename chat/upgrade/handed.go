package upgrade

import (
	"errors"
	"net"
	"os"

	"weir/serve"
)

// Handover is everything that one process passes to the next. The holder owns the descriptors.
type Handover struct {
	Lock        *os.File          // lock of the data directory; nil if none
	Listeners   []Listener        // listening sockets of the old process
	State       []byte            // state of the service
	Connections []serve.MovedConn // connections with their state
}

// Listener is a listening socket.
type Listener struct {
	Name string // the name by which both processes know it
	File *os.File
}

// DuplicateListener returns a duplicate of l for a handover. It stays open when l is closed.
func DuplicateListener(name string, l net.Listener) (Listener, error) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return Listener{}, errors.New("upgrade: only a TCP listener can be handed over")
	}
	file, err := tcp.File()
	return Listener{Name: name, File: file}, err
}

// TakeListener removes the first listener with this name from h and returns it, or nil if there is
// none.
func (h *Handover) TakeListener(name string) (net.Listener, error) {
	for i, l := range h.Listeners {
		if l.Name == name {
			h.Listeners = append(h.Listeners[:i:i], h.Listeners[i+1:]...)
			defer l.File.Close()
			return net.FileListener(l.File)
		}
	}
	return nil, nil
}

// Close closes everything that was not taken.
func (h *Handover) Close() error {
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
	*h = Handover{}
	return errors.Join(errs...)
}
