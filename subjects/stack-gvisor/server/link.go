package main

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// tapLink is a TAP device as netstack's link. Netstack's own (link/fdbased) has virtio-net headers for sockets only, and hands each packet to
// another goroutine; this one delivers from the goroutine that reads.
type tapLink struct {
	fd      int
	mtu     uint32
	offload bool
	address tcpip.LinkAddress

	mu         sync.RWMutex
	dispatcher stack.NetworkDispatcher
}

// superframe is the largest segment that the device cuts.
const superframe = 65535 - 60 - 60

var (
	_ stack.LinkEndpoint = (*tapLink)(nil)
	_ stack.GSOEndpoint  = (*tapLink)(nil)
)

func (l *tapLink) MTU() uint32                             { return l.mtu }
func (l *tapLink) SetMTU(mtu uint32)                       { l.mtu = mtu }
func (l *tapLink) MaxHeaderLength() uint16                 { return header.EthernetMinimumSize }
func (l *tapLink) LinkAddress() tcpip.LinkAddress          { return l.address }
func (l *tapLink) SetLinkAddress(a tcpip.LinkAddress)      { l.address = a }
func (l *tapLink) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }
func (l *tapLink) Close()                                  {}
func (l *tapLink) SetOnCloseAction(func())                 {}
func (l *tapLink) Wait()                                   {}

// Capabilities leaves out the offload of checksums to be sent, which to netstack means that nobody needs them: those of TCP the device completes by
// [stack.GSOEndpoint].
func (l *tapLink) Capabilities() stack.LinkEndpointCapabilities {
	if l.offload {
		return stack.CapabilityResolutionRequired | stack.CapabilityRXChecksumOffload
	}
	return stack.CapabilityResolutionRequired
}

// GSOMaxSize implements stack.GSOEndpoint.
func (l *tapLink) GSOMaxSize() uint32 {
	if l.offload {
		return superframe
	}
	return 0
}

// SupportedGSO implements stack.GSOEndpoint.
func (l *tapLink) SupportedGSO() stack.SupportedGSO {
	if l.offload {
		return stack.HostGSOSupported
	}
	return stack.GSONotSupported
}

func (l *tapLink) IsAttached() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.dispatcher != nil
}

// Attach begins to read; the reader ends with the process.
func (l *tapLink) Attach(d stack.NetworkDispatcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d != nil && l.dispatcher == nil {
		go l.read(d)
	}
	l.dispatcher = d
}

func (l *tapLink) AddHeader(p *stack.PacketBuffer) {
	header.Ethernet(p.LinkHeader().Push(header.EthernetMinimumSize)).Encode(&header.EthernetFields{
		SrcAddr: p.EgressRoute.LocalLinkAddress, DstAddr: p.EgressRoute.RemoteLinkAddress, Type: p.NetworkProtocolNumber,
	})
}

func (l *tapLink) ParseHeader(p *stack.PacketBuffer) bool {
	h, ok := p.LinkHeader().Consume(header.EthernetMinimumSize)
	if ok {
		p.NetworkProtocolNumber = header.Ethernet(h).Type()
	}
	return ok
}

// pieces are the buffers that a frame is read into: an ordinary one needs the first alone, a superframe the second too. What is used of them is netstack's from then on.
var pieces = [...]int{2048, 65536}

func (l *tapLink) read(d stack.NetworkDispatcher) {
	var vnet [vnetHeader]byte
	var views [len(pieces)]*buffer.View
	for {
		var vectors [][]byte
		if l.offload {
			vectors = append(make([][]byte, 0, 3), vnet[:])
		}
		for i, size := range pieces {
			if views[i] == nil {
				views[i] = buffer.NewViewSize(size)
			}
			vectors = append(vectors, views[i].AsSlice())
		}
		n, err := unix.Readv(l.fd, vectors)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return // the device is gone
		}
		if l.offload {
			n -= vnetHeader
		}
		var frame buffer.Buffer
		for i := 0; n > 0; i++ {
			views[i].CapLength(min(n, views[i].Size()))
			n -= views[i].Size()
			frame.Append(views[i]) //nolint:errcheck // it has none
			views[i] = nil
		}
		l.deliver(d, frame)
	}
}

func (l *tapLink) deliver(d stack.NetworkDispatcher, frame buffer.Buffer) {
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: frame})
	defer p.DecRef()
	if l.ParseHeader(p) {
		p.RXChecksumValidated = l.offload
		d.DeliverNetworkPacket(p.NetworkProtocolNumber, p)
	}
}

// WritePackets implements stack.LinkWriter.
func (l *tapLink) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	written := 0
	for _, p := range packets.AsSlice() {
		if err := l.write(p); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

func (l *tapLink) write(p *stack.PacketBuffer) tcpip.Error {
	var vnet [vnetHeader]byte
	var room [8][]byte
	vectors := room[:0]
	if l.offload {
		fill(vnet[:], p)
		vectors = append(vectors, vnet[:])
	}
	vectors = append(vectors, p.AsSlices()...)
	if _, err := unix.Writev(l.fd, vectors); err != nil {
		return &tcpip.ErrNoBufferSpace{}
	}
	return nil
}

// fill says in a virtio-net header what is left to the device.
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
		binary.LittleEndian.PutUint16(h[4:], o.MSS)
	}
}
