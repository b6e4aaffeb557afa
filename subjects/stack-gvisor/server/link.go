package main

import (
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// tapLink is a TAP device as netstack's link, the fast variant. Netstack's own (link/fdbased)
// supports virtio-net headers only for sockets, and hands each packet to another goroutine. This
// one delivers from the goroutine that reads, and each sender writes to the device itself.
type tapLink struct {
	*tap
	mtu     uint32
	address tcpip.LinkAddress

	mu         sync.RWMutex
	dispatcher stack.NetworkDispatcher
}

// superframe is the largest segment that the device splits (TSO).
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

// Capabilities omits checksum offload for sending, because netstack would then compute no checksums
// at all. The device completes those of TCP by [stack.GSOEndpoint].
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

// Attach starts the reader, which ends with the process.
func (l *tapLink) Attach(d stack.NetworkDispatcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d != nil && l.dispatcher == nil {
		go l.read(func(frame buffer.Buffer) { l.deliver(d, frame) })
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
