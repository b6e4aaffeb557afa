package stream

import (
	"errors"

	"weir/lab/contract"
)

// terminate checks SIGTERM while four connections have much input to be handled, or have longer to
// wait than the server may take to exit. All that had arrived is output, the server exits with
// status 0 and leaves no process. The first bytes complete no message that has to be waited for.
func terminate(b *bench) {
	const first, burst = 1000, 32_000
	clients := b.dial(b.numbers()[:4]...)
	b.accepted(clients, first)
	for _, c := range clients {
		c.send(burst)
	}
	for _, c := range clients {
		b.AwaitArrival(c.TCPConn)
	}
	b.Terminate(func() {
		contract.InParallel(len(clients), func(i int) { clients[i].receiveRest(first) })
	})
	b.awaitAll(clients...)
}

// accepted sends the first bytes of each connection and waits until the server has handled them.
func (b *bench) accepted(clients []*client, first int) {
	for _, c := range clients {
		c.send(first)
		if b.echoes() {
			c.expect(0, first)
		}
	}
	if !b.echoes() {
		b.AwaitOutput(first*len(clients), b.Timeout)
	}
}

// receiveRest reads to the end of a connection whose echoes up to from were already read. How a
// server ends a connection of a sink does not matter.
func (c *client) receiveRest(from int) {
	got, err := c.receive()
	if !c.echoes {
		return
	}
	if len(got) < c.sent-from {
		contract.Failf("echo: connection %d: expected %d bytes that had arrived, saw %d: %w", c.number, c.sent-from, len(got),
			errors.Join(err, errors.New("the rest is lost")))
	}
	c.checkReceived(append(pattern(c.number, 0, from), got...))
}

// interrupt checks that SIGINT, which a terminal sends, stops the server as SIGTERM does.
func interrupt(b *bench) {
	c := b.first()
	b.accepted([]*client{c}, 1000)
	b.Interrupt()
	b.awaitAll(c)
}
