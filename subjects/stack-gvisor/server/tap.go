package main

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// vnetHeader is the length of a virtio-net header.
const vnetHeader = 10

// tap is a TAP device of one queue. One goroutine reads; any goroutine may write.
type tap struct {
	fd      int
	offload bool // each frame starts with a virtio-net header
}

// openTap opens the device in blocking mode: a reader that sleeps in an ordinary system call frees
// its P for others at once.
func openTap(name string, offload bool) (*tap, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no name of a device", name)
	}
	flags, asked := uint16(unix.IFF_TAP|unix.IFF_NO_PI), 0
	if offload {
		flags |= unix.IFF_VNET_HDR
		asked = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("taking the device %s: %w", name, err)
	}
	if offload {
		if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, vnetHeader); err != nil {
			return nil, fmt.Errorf("setting the length of headers: %w", err)
		}
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, asked); err != nil {
		return nil, fmt.Errorf("asking %s for offloads: %w", name, err)
	}
	return &tap{fd: fd, offload: offload}, nil
}

// pieces are the buffers that a frame is read into: an ordinary frame needs only the first, a
// superframe the second, too. netstack then owns the used ones.
var pieces = [...]int{2048, 65536}

// read passes each frame to deliver, which owns it, until the device is gone.
func (t *tap) read(deliver func(frame buffer.Buffer)) {
	var vnet [vnetHeader]byte
	var views [len(pieces)]*buffer.View
	for {
		var vectors [][]byte
		if t.offload {
			vectors = append(make([][]byte, 0, 3), vnet[:])
		}
		for i, size := range pieces {
			if views[i] == nil {
				views[i] = buffer.NewViewSize(size)
			}
			vectors = append(vectors, views[i].AsSlice())
		}
		n, err := unix.Readv(t.fd, vectors)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return // the device is gone
		}
		if t.offload {
			n -= vnetHeader
		}
		var frame buffer.Buffer
		for i := 0; n > 0; i++ {
			views[i].CapLength(min(n, views[i].Size()))
			n -= views[i].Size()
			frame.Append(views[i]) //nolint:errcheck // it has none
			views[i] = nil
		}
		deliver(frame)
	}
}

// write sends a whole packet, including its Ethernet header.
func (t *tap) write(p *stack.PacketBuffer) tcpip.Error {
	var vnet [vnetHeader]byte
	var room [8][]byte
	vectors := room[:0]
	if t.offload {
		fill(vnet[:], p)
		vectors = append(vectors, vnet[:])
	}
	vectors = append(vectors, p.AsSlices()...)
	if _, err := unix.Writev(t.fd, vectors); err != nil {
		return &tcpip.ErrNoBufferSpace{}
	}
	return nil
}

// fill describes in a virtio-net header the work that is left to the device.
func fill(h []byte, p *stack.PacketBuffer) {
	o := p.GSOOptions
	if o.Type == stack.GSONone {
		return
	}
	binary.LittleEndian.PutUint16(h[2:], uint16(p.HeaderSize()))
	if o.NeedsCsum {
		h[0] = 1 // VIRTIO_NET_HDR_F_NEEDS_CSUM
		binary.LittleEndian.PutUint16(h[6:], header.EthernetMinimumSize+o.L3HdrLen)
		binary.LittleEndian.PutUint16(h[8:], o.CsumOffset)
	}
	if p.Data().Size() > int(o.MSS) {
		h[1] = 1 // VIRTIO_NET_HDR_GSO_TCPV4
		if o.Type == stack.GSOTCPv6 {
			h[1] = 4 // VIRTIO_NET_HDR_GSO_TCPV6
		}
		binary.LittleEndian.PutUint16(h[4:], o.MSS)
	}
}
