package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

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

// integrity checks that no byte is lost, doubled or reordered within a connection, with sixteen
// active ones.
func integrity(b *bench) {
	clients := b.dial(b.numbers()...)
	contract.InParallel(len(clients), func(i int) { clients[i].exchange(writeSizes(clients[i].number)...) })
	b.awaitAll(clients...)
}

// halfClose checks that after the client's FIN all its bytes are still output, followed by the
// server's FIN.
func halfClose(b *bench) {
	c := b.first()
	c.exchange(100_000)
	contract.During("a connection that sends nothing and half-closes", func() { b.dial(b.numbers()[1])[0].exchange() })
	b.awaitAll(c)
}

// singleBytes checks input in segments of one byte.
func singleBytes(b *bench) {
	c := b.first()
	c.exchange(slices.Repeat([]int{1}, 3000)...)
	b.awaitAll(c)
}

// reset checks that reset connections do not disturb the others, nor later ones.
func reset(b *bench) {
	clients := b.dial(b.numbers()[:4]...)
	for _, c := range clients {
		c.send(5000)
	}
	var amounts []amount
	for _, c := range clients[:2] { // with unread echoes, if there are any
		contract.Reset(c.TCPConn)
		amounts = append(amounts, amount{c.number, 0, c.sent})
	}
	contract.During("with a reset connection", func() {
		for _, c := range clients[2:] {
			c.exchange(1000, 4097)
		}
	})
	contract.During("after a reset", func() {
		late := b.dial(b.numbers()[4])
		late[0].exchange(5000)
		clients = append(clients, late...)
	})
	b.await(append(amounts, sentAmounts(clients[2:])...))
}

// manyConnections checks two hundred concurrent connections with one message each; the output is
// counted by byte value.
func manyConnections(b *bench) {
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
	err := contract.Try(func() {
		clients := b.dial(all...)
		contract.InParallel(many, func(i int) { clients[i].exchange(size) })
	})
	contract.Expect(err == nil, "%w (a listen backlog that is too short can be the reason)", err)
	if b.echoes() {
		return
	}
	// the counts give a better description of missing output
	_ = contract.Try(func() { b.AwaitOutput(many*size, contract.OutputGrace) })
	b.Output = counted(want, many*size)
}

// counted judges that the output contains each byte value as often as it was sent, total bytes.
func counted(want [256]int, total int) func(output []byte) error {
	return func(output []byte) error {
		if len(output) != total {
			return fmt.Errorf("standard output: expected %d bytes, saw %d", total, len(output))
		}
		for x, n := range want {
			if seen := bytes.Count(output, []byte{byte(x)}); seen != n {
				return fmt.Errorf("standard output: expected byte 0x%02x %d times, saw it %d times", x, n, seen)
			}
		}
		return nil
	}
}
