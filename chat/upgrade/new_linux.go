package upgrade

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"weir/serve"
)

// Predecessor is the process that this one is to follow. One goroutine uses it.
type Predecessor struct {
	wire wire
}

// inheritedSocket is the descriptor of the socket that a new process is started with.
const inheritedSocket = 3

// Inherited is the process that has started this one to take over. It is called once, and only by
// who was told so.
func Inherited() (*Predecessor, error) {
	w, err := wireOf(os.NewFile(inheritedSocket, "upgrade"))
	if err != nil {
		return nil, err
	}
	return &Predecessor{wire: w}, nil
}

// Receive says that this process is ready, and knows a version of the state, and returns what it is
// given. Nothing of it may be read from or written to before Taken has returned.
func (p *Predecessor) Receive(version int) (h Handed, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := p.wire.send(message{Ready: true, Version: version}); err != nil {
		return h, gone(err)
	}
	head, fds, err := p.wire.receive()
	if err != nil {
		return h, gone(err)
	}
	if err := h.begin(head, fds); err != nil {
		return h, err
	}
	for err := p.wire.send(message{OK: true}); len(h.Connections) < head.Count; err = p.wire.send(message{OK: true}) {
		if err != nil {
			return h, gone(err)
		}
		m, fds, err := p.wire.receive()
		if err != nil {
			return h, gone(err)
		}
		if len(fds) != len(m.Some) || len(fds) == 0 {
			closeAll(fds)
			return h, errors.New("upgrade: not all connections came")
		}
		for i, c := range m.Some {
			h.Connections = append(h.Connections, serve.MovedConn{FD: fds[i], Unsent: c.Unsent, State: c.State})
		}
	}
	return h, nil
}

// begin takes the first message.
func (h *Handed) begin(head message, fds []int) error {
	want := len(head.Listeners)
	if head.Lock {
		want++
	}
	if len(fds) != want {
		closeAll(fds)
		return fmt.Errorf("upgrade: %d descriptors came, and %d were named", len(fds), want)
	}
	if h.State = head.State; head.Lock {
		h.Lock, fds = os.NewFile(uintptr(fds[0]), "lock"), fds[1:]
	}
	for i, name := range head.Listeners {
		h.Listeners = append(h.Listeners, Listener{name, os.NewFile(uintptr(fds[i]), name)})
	}
	return nil
}

func gone(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("upgrade: the old server has ended, or does without this one")
	}
	return fmt.Errorf("upgrade: the old server: %w", err)
}

// Taken says that everything is open, and returns when this process is to begin: at the word of the
// old one, or at its end.
func (p *Predecessor) Taken() error {
	defer p.wire.Close()
	if err := p.wire.send(message{OK: true}); err != nil {
		return gone(err)
	}
	p.wire.SetReadDeadline(time.Now().Add(takenWithin))
	m, fds, err := p.wire.receive()
	closeAll(fds)
	if err != nil && !errors.Is(err, io.EOF) || err == nil && !m.Go {
		return errors.Join(errors.New("upgrade: the old server does not let go"), err)
	}
	return nil
}

// Refuse says why this process does not take over.
func (p *Predecessor) Refuse(why error) error {
	defer p.wire.Close()
	return p.wire.send(message{Error: why.Error()})
}
