package link

// loopbackMTU is the largest packet of the loopback; Linux uses the same.
const loopbackMTU = 65536 - 1

// Loopback returns a link whose written frames are read from it.
func Loopback() Link {
	p := newPipe(4096, 0)
	return &memoryLink{caps: Caps{MTU: loopbackMTU, Checksum: true, Queues: 1}, in: p, out: p}
}
