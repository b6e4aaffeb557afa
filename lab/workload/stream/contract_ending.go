package stream

import (
	"errors"
	"fmt"
	"weir/lab/contract"
)

// terminate checks SIGTERM while four connections have much input to be handled, or have longer to
// wait than the server may take to exit. All that had arrived is output, the server exits with
// status 0 and leaves no process. The first bytes complete no message that has to be waited for.
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
		if err := b.AwaitArrival(c.TCPConn); err != nil {
			return nil, fmt.Errorf("connection %d: %w", c.number, err)
		}
	}
	stopped := make(chan error, 1) // one result, from the stopping goroutine
	go func() { stopped <- b.Stop() }()
	err = contract.InParallel(len(clients), func(i int) error { return clients[i].receiveRest(first) })
	if stop := <-stopped; stop != nil {
		return nil, stop
	}
	if exit := b.Process.Exit(); !exit.Success() {
		return nil, fmt.Errorf("after SIGTERM: expected exit status 0, saw %s", exit)
	}
	if err != nil {
		return nil, fmt.Errorf("after SIGTERM: %w", err)
	}
	if b.echoes() {
		return noOutput, nil
	}
	return expectAmounts(sentAmounts(clients)), nil
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
	return b.AwaitOutput(first*len(clients), b.Timeout)
}

// receiveRest reads to the end of a connection whose echoes up to from were already read. How a
// server ends a connection of a sink does not matter.
func (c *client) receiveRest(from int) error {
	got, err := c.receive()
	if !c.echoes {
		return nil
	}
	if len(got) < c.sent-from {
		return fmt.Errorf("echo: connection %d: expected %d bytes that had arrived, saw %d: %w", c.number, c.sent-from, len(got),
			errors.Join(err, errors.New("the rest is lost")))
	}
	whole := append(pattern(c.number, 0, from), got...)
	return c.checkReceived(whole)
}

// interrupt checks that SIGINT, which a terminal sends, stops the server as SIGTERM does.
func interrupt(b *bench) (verify, error) {
	c, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := b.accepted([]*client{c}, 1000); err != nil {
		return nil, err
	}
	if err := b.Interrupt(); err != nil || b.echoes() {
		return noOutput, err
	}
	return expectAmounts(sentAmounts([]*client{c})), nil
}
