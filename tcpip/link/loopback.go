package link

// loopbackMTU is the largest packet of the loopback, as Linux has it.
const loopbackMTU = 65536 - 1

// Loopback is a link whose frames come back: what is written to it is read from it.
func Loopback() Link {
	p := newPipe(4096)
	return &memory{caps: Caps{MTU: loopbackMTU, Checksum: true, Queues: 1}, in: p, out: p}
}
