package wgtun

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.zx2c4.com/wireguard/tun"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// Options configure a device beyond CreateNetTUN. The zero value of a field means its default.
type Options struct {
	Addrs []netip.Addr // of this host in the tunnel, at least one
	DNS   []netip.Addr // name servers; empty: Dial accepts addresses only
	MTU   int          // largest packet in bytes. Default 1,420
	// configuration of the stack, whose Link, Addrs, Routes and Resolver are set here
	Stack tcpip.Config
}

const (
	defaultMTU = 1420
	// bytes that may wait in each direction between WireGuard and the stack
	queueBytes = 256 << 10
	// maxSendBuffer is the default limit of a connection's send buffer, in bytes.
	maxSendBuffer = 1 << 20
	batchSize     = 128 // packets of one Read or Write: that of wireguard-go's sockets
)

// netTUN implements tun.Device.
type netTUN struct {
	stack  *tcpip.Stack
	queue  link.Queue // the far end of the stack's link
	far    link.Link
	mtu    int
	events chan tun.Event // New and Close -> WireGuard; its capacity is the number of events
	closed chan struct{}  // closed by Close, before events

	closeOnce sync.Once

	// Used by Read only, of which one is called at a time.
	frames [1]link.Frame
	rest   [][]byte // packets that found no room in an earlier Read
}

// CreateNetTUN returns a device for WireGuard and the network behind it, for a host with these
// addresses and name servers. Close of the device closes the network.
func CreateNetTUN(localAddresses, dnsServers []netip.Addr, mtu int) (tun.Device, *Net, error) {
	return New(Options{Addrs: localAddresses, DNS: dnsServers, MTU: mtu})
}

// New is CreateNetTUN with more options.
func New(o Options) (tun.Device, *Net, error) {
	if o.MTU == 0 {
		o.MTU = defaultMTU
	}
	near, far := link.Pair(link.PairConfig{Medium: link.IP, MTU: o.MTU, Buffer: queueBytes, Offload: true})
	config := o.Stack
	config.Link = near
	for _, a := range o.Addrs {
		a = a.Unmap()
		config.Addrs = append(config.Addrs, netip.PrefixFrom(a, a.BitLen()))
		config.Routes = append(config.Routes, ip.Route{To: netip.PrefixFrom(a, 0).Masked()})
	}
	for _, a := range o.DNS {
		config.Resolver = append(config.Resolver, netip.AddrPortFrom(a.Unmap(), 53))
	}
	if config.TCP.SendBuffer == (tcp.BufferRange{}) {
		config.TCP.SendBuffer = tcp.BufferRange{Initial: 64 << 10, Max: maxSendBuffer}
	}
	s, err := tcpip.New(config)
	if err != nil {
		return nil, nil, errors.Join(err, near.Close(), far.Close())
	}
	d := &netTUN{stack: s, far: far, queue: far.Queue(0), mtu: o.MTU, events: make(chan tun.Event, 1), closed: make(chan struct{})}
	d.events <- tun.EventUp
	return d, &Net{stack: s}, nil
}

// Name implements tun.Device.
func (d *netTUN) Name() (string, error) { return "weir", nil }

// File implements tun.Device: there is none.
func (d *netTUN) File() *os.File { return nil }

// Events implements tun.Device.
func (d *netTUN) Events() <-chan tun.Event { return d.events }

// MTU implements tun.Device.
func (d *netTUN) MTU() (int, error) { return d.mtu, nil }

// BatchSize implements tun.Device.
func (d *netTUN) BatchSize() int { return batchSize }

// Close implements tun.Device.
func (d *netTUN) Close() error {
	var err error
	d.closeOnce.Do(func() {
		close(d.closed)
		err = errors.Join(d.stack.Close(), d.far.Close())
		close(d.events)
	})
	return err
}

// Read implements tun.Device: it returns packets that the stack sends.
func (d *netTUN) Read(bufs [][]byte, sizes []int, offset int) (n int, err error) {
	for len(d.rest) > 0 && n < len(bufs) {
		sizes[n] = copy(bufs[n][offset:], d.rest[0])
		d.rest = d.rest[1:]
		n++
	}
	for n < len(bufs) {
		wait := -1 // without limit
		if n > 0 {
			wait = 0
		}
		got, err := d.queue.Read(d.frames[:], time.Duration(wait))
		switch {
		case errors.Is(err, net.ErrClosed):
			return n, os.ErrClosed
		case got == 0 && n > 0:
			return n, nil
		case got == 0:
			continue
		}
		n = d.split(bufs, sizes, offset, n)
	}
	return n, nil
}

// split puts the packets of a frame into the buffers from the nth on, and keeps those that find no
// room. It returns the number of used buffers.
func (d *netTUN) split(bufs [][]byte, sizes []int, offset, n int) int {
	link.Segments(&d.frames[0], link.IP, func(packet []byte) {
		if n == len(bufs) {
			d.rest = append(d.rest, bytes.Clone(packet))
			return
		}
		sizes[n] = copy(bufs[n][offset:], packet)
		n++
	})
	return n
}

// Write implements tun.Device: it gives packets to the stack, and waits while the stack is behind.
// While the stack's reader sleeps, the stack processes them in this call. WireGuard calls Write
// from a goroutine for each peer.
func (d *netTUN) Write(bufs [][]byte, offset int) (int, error) {
	valid, err := d.countValid(bufs, offset)
	if d.writeDirect(bufs[:valid], offset) {
		return valid, err
	}
	for i, b := range bufs[:valid] {
		packet := b[offset:]
		if len(packet) == 0 {
			continue
		}
		if !link.WriteWaiting(d.queue, &link.Parts{Head: packet}, d.closed) {
			select {
			case <-d.closed:
				return i, os.ErrClosed
			default: // too long: the stack's link counts it
			}
		}
	}
	return valid, err
}

// countValid returns the number of packets before the first one that is neither of IPv4 nor of
// IPv6, and an error for that one.
func (d *netTUN) countValid(bufs [][]byte, offset int) (int, error) {
	for i, b := range bufs {
		if packet := b[offset:]; len(packet) > 0 && packet[0]>>4 != 4 && packet[0]>>4 != 6 {
			return i, syscall.EAFNOSUPPORT
		}
	}
	return len(bufs), nil
}

// writeDirect has the stack process packets in this goroutine, and reports whether it did.
func (d *netTUN) writeDirect(bufs [][]byte, offset int) bool {
	pooled := framesPool.Get().(*[batchSize]link.Frame)
	defer framesPool.Put(pooled)
	frames := pooled[:0]
	for _, b := range bufs[:min(len(bufs), batchSize)] {
		if packet := b[offset:]; len(packet) > 0 {
			frames = append(frames, link.Frame{Bytes: packet})
		}
	}
	defer clear(frames)
	return len(bufs) <= batchSize && d.queue.(link.DirectWriter).WriteDirect(frames)
}

// framesPool has the frames of a Write.
var framesPool = sync.Pool{New: func() any { return new([batchSize]link.Frame) }}
