package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"weir/wire"
)

// OverConfig configures a link over a connection.
type OverConfig struct {
	Medium Medium // what it carries
	// the stack's hardware address, with Medium Ethernet only; default: a random one
	MAC wire.MAC
	MTU int // largest packet in bytes, without the link's header; default 1,500
	// bytes that may wait in each direction; then the stack's connections wait, and nothing more is
	// read. Default 512 KiB
	Buffer int
}

// Over returns a link whose frames are the messages of rw: one by each Read, and one by each Write.
// Messages are, for example, those of a TUN device, of a Unix socket that keeps message boundaries,
// or of [Prefixed]. A frame that Write rejects is lost. The link is gone when Read fails.
//
// Superframes are cut into segments and checksums completed before Write. A goroutine reads from rw
// and another one writes to it: rw need not allow more. Close closes rw, which must end both calls,
// and waits for them.
func Over(rw io.ReadWriteCloser, c OverConfig) (Link, error) {
	if c.MTU == 0 {
		c.MTU = 1500
	}
	if c.Buffer == 0 {
		c.Buffer = 512 << 10
	}
	if c.MTU < 68 || c.MTU > 65535 || c.Buffer < 0 {
		return nil, fmt.Errorf("link: an MTU of %d and a Buffer of %d: make the MTU 68 to 65,535 and Buffer at least 1, or 0 for the default", c.MTU, c.Buffer)
	}
	near, far := Pair(PairConfig{Medium: c.Medium, MTU: c.MTU, Buffer: c.Buffer, Offload: true})
	o := &overLink{memoryLink: near.(*memoryLink), far: far.Queue(0), rw: rw, stop: make(chan struct{})}
	o.caps.MAC = c.MAC
	if c.Medium == Ethernet && c.MAC == (wire.MAC{}) {
		o.caps.MAC = randomMAC()
	}
	o.pumps.Go(o.receive) // until Close
	o.pumps.Go(o.send)    // until Close
	return o, nil
}

// randomMAC returns a hardware address that is not a manufacturer's.
func randomMAC() (m wire.MAC) {
	binary.NativeEndian.PutUint32(m[2:], rand.Uint32())
	m[0] = 2
	return m
}

// overLink is a link over a connection: the near end of a pair, whose far end is copied to and from
// the connection.
type overLink struct {
	*memoryLink
	far   Queue
	rw    io.ReadWriteCloser
	pumps sync.WaitGroup
	stop  chan struct{} // closed by Close

	closeOnce sync.Once
	closeErr  error

	mu  sync.Mutex
	why error // why the connection can be read no more; nil: it can
}

// Queue implements Link.
func (o *overLink) Queue(int) Queue { return o }

// Read implements Queue.
func (o *overLink) Read(batch []Frame, wait time.Duration) (int, error) {
	n, err := o.memoryLink.Read(batch, wait)
	if errors.Is(err, net.ErrClosed) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.why != nil {
			err = o.why
		}
	}
	return n, err
}

// Close implements Link.
func (o *overLink) Close() error {
	o.closeOnce.Do(func() {
		close(o.stop)
		o.memoryLink.Close()
		o.closeErr = o.rw.Close()
		o.far.(*memoryLink).Close()
		o.pumps.Wait()
	})
	return o.closeErr
}

// receive gives the stack what is read, until Read fails.
func (o *overLink) receive() {
	b := make([]byte, o.caps.MTU+o.caps.Medium.overhead())
	for {
		n, err := o.rw.Read(b)
		if err != nil {
			o.end(err)
			return
		}
		WriteWaiting(o.far, &Parts{Head: b[:n]}, o.stop)
	}
}

// end closes the link's read side: the connection has failed, unless Close was called.
func (o *overLink) end(err error) {
	select {
	case <-o.stop:
		return
	default:
	}
	o.mu.Lock()
	o.why = fmt.Errorf("link: reading from the connection: %w", err)
	o.mu.Unlock()
	o.in.close()
}

// send writes what the stack sends, until Close.
func (o *overLink) send() {
	var batch [32]Frame
	for {
		n, err := o.far.Read(batch[:], -1)
		if err != nil {
			return
		}
		for i := range batch[:n] {
			Segments(&batch[i], o.caps.Medium, func(frame []byte) {
				if _, err := o.rw.Write(frame); err != nil {
					o.drop(DropDown)
				}
			})
		}
	}
}
