package contract

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// terminate: SIGTERM comes while four connections have much to be handled, or have longer to wait
// than the server may take to end. All that had arrived comes out, the server exits with status 0
// and leaves no process. The first bytes complete no message that has to be waited for.
func terminate(b *bench) (verify, error) {
	const first, burst = 1000, 32_000
	clients, err := b.dialAll(b.numbers()[:4])
	defer closeAll(clients)
	if err == nil {
		err = b.accepted(clients, first)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		if err := c.send(burst); err != nil {
			return nil, err
		}
	}
	for _, c := range clients {
		if err := b.arrived(c); err != nil {
			return nil, err
		}
	}
	stopped := make(chan error, 1) // from the stopping goroutine, which ends then; one result
	go func() { stopped <- b.stop() }()
	err = together(len(clients), func(i int) error { return clients[i].ended(first) })
	if stop := <-stopped; stop != nil {
		return nil, stop
	}
	if exit := b.process.Exit(); !exit.Success() {
		return nil, fmt.Errorf("after SIGTERM: expected exit status 0, saw %s", exit)
	}
	if err != nil {
		return nil, fmt.Errorf("after SIGTERM: %w", err)
	}
	if b.echoes() {
		return nothing, nil
	}
	return exactly(exact(clients)), nil
}

// accepted sends the first bytes of each connection and waits until the server has handled them.
func (b *bench) accepted(clients []*client, first int) error {
	for _, c := range clients {
		if err := c.send(first); err != nil {
			return err
		}
		if b.echoes() {
			if err := c.expect(0, first); err != nil {
				return err
			}
		}
	}
	if b.echoes() {
		return nil
	}
	return b.written(first*len(clients), b.patience)
}

// arrived waits until the kernel on the server's side has everything that c sent.
func (b *bench) arrived(c *client) error {
	deadline := time.Now().Add(b.patience)
	for {
		n, err := unacknowledged(c.TCPConn)
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("connection %d: expected all of %d bytes to arrive, saw %d underway", c.number, c.sent, n)
		}
		time.Sleep(look)
	}
}

// ended reads to the end of a connection whose echoes up to from were read before. How a server
// ends the connections of a sink does not matter.
func (c *client) ended(from int) error {
	got, err := c.receive()
	if !c.echoes {
		return nil
	}
	if len(got) < c.sent-from {
		return fmt.Errorf("echo: connection %d: expected %d bytes that had arrived, saw %d: %w", c.number, c.sent-from, len(got),
			errors.Join(err, errors.New("the rest is lost")))
	}
	whole := append(pattern(c.number, 0, from), got...)
	return c.returned(whole)
}

// interrupt: SIGINT, which a terminal sends, ends the server like SIGTERM does.
func interrupt(b *bench) error {
	end, err := b.start()
	defer end()
	if err != nil {
		return err
	}
	c, err := b.dial(b.numbers()[0])
	if err != nil {
		return err
	}
	defer c.Close()
	if err := b.accepted([]*client{c}, 1000); err != nil {
		return err
	}
	if err := syscall.Kill(b.process.PID(), syscall.SIGINT); err != nil {
		return err
	}
	if err := b.gone(); err != nil {
		return fmt.Errorf("after SIGINT: %w", err)
	}
	if b.echoes() {
		return nil
	}
	return b.judged(exactly(exact([]*client{c})))
}

// gone waits until nothing is left of a server that was told to end, and sees that it ended well.
func (b *bench) gone() error {
	deadline := time.NewTimer(b.patience)
	defer deadline.Stop()
	select {
	case <-b.process.Done():
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-deadline.C:
		return fmt.Errorf("expected it to exit, saw it go on for %v", b.patience)
	}
	if exit := b.process.Exit(); !exit.Success() {
		return fmt.Errorf("expected exit status 0, saw %s", exit)
	}
	for len(b.process.Left()) > 0 {
		select {
		case <-deadline.C:
			return fmt.Errorf("expected no process to be left, saw %v", b.process.Left())
		case <-time.After(look):
		}
	}
	return nil
}
