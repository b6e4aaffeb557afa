package stream

import (
	"fmt"
	"math/rand/v2"
	"weir/lab/contract"
)

// boundarySizes are write sizes at which servers lose bytes: one, two, and around the size of a
// read.
var boundarySizes = []int{1, 2, 4095, 4096, 4097, 1, 8192, 2, 4096, 4096, 4096, 999, 1000, 1001, 12288}

// writeSizes returns the boundary sizes and random ones, which differ between connections but not
// between runs.
func writeSizes(number int) []int {
	r := rand.New(rand.NewPCG(uint64(number), 42))
	all := append([]int(nil), boundarySizes...)
	for range 40 {
		all = append(all, 1+r.IntN(5000))
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// sentAmounts returns the amounts of connections that sent all their bytes and ended.
func sentAmounts(clients []*client) (amounts []amount) {
	for _, c := range clients {
		amounts = append(amounts, amount{c.number, c.sent, c.sent})
	}
	return amounts
}

// dialAll opens one connection per number. The caller closes them, also after an error.
func (b *bench) dialAll(numbers []int) (clients []*client, err error) {
	for _, n := range numbers {
		c, err := b.dial(n)
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeAll(clients []*client) {
	for _, c := range clients {
		c.Close()
	}
}

// integrity checks that no byte is lost, doubled or reordered within a connection, with sixteen
// active ones.
func integrity(b *bench) (verify, error) {
	clients, err := b.dialAll(b.numbers())
	defer closeAll(clients)
	if err == nil {
		err = contract.InParallel(len(clients), func(i int) error { return clients[i].exchange(writeSizes(clients[i].number)...) })
	}
	if err != nil {
		return nil, err
	}
	return b.awaitAmounts(sentAmounts(clients))
}

// halfClose checks that after the client's FIN all its bytes are still output, followed by the
// server's FIN.
func halfClose(b *bench) (verify, error) {
	c, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.exchange(100_000); err != nil {
		return nil, err
	}
	empty, err := b.dial(b.numbers()[1])
	if err != nil {
		return nil, err
	}
	defer empty.Close()
	if err := empty.exchange(); err != nil {
		return nil, fmt.Errorf("a connection that sends nothing and half-closes: %w", err)
	}
	return b.awaitAmounts(sentAmounts([]*client{c}))
}

// singleBytes checks input in segments of one byte.
func singleBytes(b *bench) (verify, error) {
	c, err := b.dial(b.numbers()[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ones := make([]int, 3000)
	for i := range ones {
		ones[i] = 1
	}
	if err := c.exchange(ones...); err != nil {
		return nil, err
	}
	return b.awaitAmounts(sentAmounts([]*client{c}))
}

// reset checks that reset connections do not disturb the others, nor later ones.
func reset(b *bench) (verify, error) {
	numbers := b.numbers()
	clients, err := b.dialAll(numbers[:4])
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		if err := c.send(5000); err != nil {
			return nil, err
		}
	}
	var amounts []amount
	for _, c := range clients[:2] { // with unread echoes, if there are any
		if err := c.SetLinger(0); err != nil {
			return nil, err
		}
		c.Close()
		amounts = append(amounts, amount{c.number, 0, c.sent})
	}
	for _, c := range clients[2:] {
		if err := c.exchange(1000, 4097); err != nil {
			return nil, fmt.Errorf("with a reset connection: %w", err)
		}
	}
	late, err := b.dial(numbers[4])
	if err != nil {
		return nil, fmt.Errorf("after a reset: %w", err)
	}
	defer late.Close()
	if err := late.exchange(5000); err != nil {
		return nil, fmt.Errorf("after a reset: %w", err)
	}
	return b.awaitAmounts(append(amounts, sentAmounts(append(clients[2:], late))...))
}

// manyConnections checks two hundred concurrent connections with one message each; the output is
// counted by byte value.
func manyConnections(b *bench) (verify, error) {
	const many, size = 200, 100
	numbers := b.numbers()
	var want [256]int
	var all []int
	for i := range many {
		all = append(all, numbers[i%len(numbers)])
		for _, x := range pattern(all[i], 0, size) {
			want[x]++
		}
	}
	clients, err := b.dialAll(all)
	defer closeAll(clients)
	if err == nil {
		err = contract.InParallel(len(clients), func(i int) error { return clients[i].exchange(size) })
	}
	if err != nil {
		return nil, fmt.Errorf("%w (a listen backlog that is too short can be the reason)", err)
	}
	if b.echoes() {
		return noOutput, nil
	}
	// the counts give a better description of missing output
	_ = b.AwaitOutput(many*size, contract.OutputGrace)
	return counted(want), nil
}

// counted judges that the output contains each byte value as often as it was sent.
func counted(want [256]int) verify {
	return func(output []byte) error {
		seen := [256]int{}
		total := 0
		for _, x := range output {
			seen[x]++
		}
		for _, n := range want {
			total += n
		}
		if len(output) != total {
			return fmt.Errorf("standard output: expected %d bytes, saw %d", total, len(output))
		}
		for x, n := range want {
			if seen[x] != n {
				return fmt.Errorf("standard output: expected byte 0x%02x %d times, saw it %d times", x, n, seen[x])
			}
		}
		return nil
	}
}
