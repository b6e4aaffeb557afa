package upgrade

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"weir/serve"
)

// Predecessor is the process that this one replaces. Only one goroutine may use it.
type Predecessor struct {
	socket socket
}

// inheritedSocket is the descriptor of the socket in a new process.
const inheritedSocket = 3

// Inherited connects to the process that has started this one. It must be called once, and only in
// a process that was started for an upgrade.
func Inherited() (*Predecessor, error) {
	w, err := openSocket(os.NewFile(inheritedSocket, "upgrade"))
	if err != nil {
		return nil, err
	}
	return &Predecessor{socket: w}, nil
}

// Receive reports that this process is ready, with the version of the state that it understands,
// and returns the handover. No connection may be read from or written to before Confirm has
// returned.
func (p *Predecessor) Receive(version int) (h Handover, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := p.socket.send(message{Ready: true, Version: version}); err != nil {
		return h, oldServerError(err)
	}
	head, fds, err := p.socket.receive()
	if err != nil {
		return h, oldServerError(err)
	}
	if err := h.openFirst(head, fds); err != nil {
		return h, err
	}
	for err := p.socket.send(message{OK: true}); len(h.Connections) < head.Count; err = p.socket.send(message{OK: true}) {
		if err != nil {
			return h, oldServerError(err)
		}
		m, fds, err := p.socket.receive()
		if err != nil {
			return h, oldServerError(err)
		}
		if len(fds) != len(m.Some) || len(fds) == 0 {
			closeAll(fds)
			return h, errors.New("upgrade: a message has a connection without its descriptor")
		}
		for i, c := range m.Some {
			h.Connections = append(h.Connections, serve.MovedConn{FD: fds[i], Unsent: c.Unsent, State: c.State})
		}
	}
	return h, nil
}

// openFirst opens the descriptors of the first message.
func (h *Handover) openFirst(head message, fds []int) error {
	want := len(head.Listeners)
	if head.Lock {
		want++
	}
	if len(fds) != want {
		closeAll(fds)
		return fmt.Errorf("upgrade: received %d descriptors, want %d", len(fds), want)
	}
	if h.State = head.State; head.Lock {
		h.Lock, fds = os.NewFile(uintptr(fds[0]), "lock"), fds[1:]
	}
	for i, name := range head.Listeners {
		h.Listeners = append(h.Listeners, Listener{name, os.NewFile(uintptr(fds[i]), name)})
	}
	return nil
}

func oldServerError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("upgrade: the old server has exited or cancelled the upgrade")
	}
	return fmt.Errorf("upgrade: the old server: %w", err)
}

// Confirm reports that everything is open, and returns when this process must start to serve: when
// the old one sends go, or exits.
func (p *Predecessor) Confirm() error {
	defer p.socket.Close()
	if err := p.socket.send(message{OK: true}); err != nil {
		return oldServerError(err)
	}
	p.socket.SetReadDeadline(time.Now().Add(transferTimeout))
	m, fds, err := p.socket.receive()
	closeAll(fds)
	if err != nil && !errors.Is(err, io.EOF) || err == nil && !m.Go {
		return errors.Join(errors.New("upgrade: the old server did not send go"), err)
	}
	return nil
}

// Refuse reports why this process cannot take over.
func (p *Predecessor) Refuse(why error) error {
	defer p.socket.Close()
	return p.socket.send(message{Error: why.Error()})
}
