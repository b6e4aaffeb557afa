package main

import (
	"context"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// waiting is how many packets may wait to be written, as wireguard-go has it. One more is lost.
const waiting = 1024

// channelLink is a TAP device as netstack's link, the way programs in Go embed it: netstack's
// channel endpoint, here below its Ethernet, one goroutine that reads the device and injects, and
// one that takes from the channel and writes. Both end with the process. What comes before a stack
// is attached is lost.
func channelLink(t *tap, mtu int, address tcpip.LinkAddress) stack.LinkEndpoint {
	c := channel.New(waiting, uint32(mtu+header.EthernetMinimumSize), address)
	if t.offload {
		// checksums of TCP to be sent go with it: see tapLink.Capabilities
		c.SupportedGSOKind = stack.HostGSOSupported
		c.LinkEPCapabilities = stack.CapabilityRXChecksumOffload
	}
	go t.read(func(frame buffer.Buffer) { inject(c, frame) })
	go func() {
		for p := c.ReadContext(context.Background()); p != nil; p = c.ReadContext(context.Background()) {
			t.write(p) // what the device refuses is lost, as on a wire
			p.DecRef()
		}
	}()
	return ethernet.New(c)
}

func inject(c *channel.Endpoint, frame buffer.Buffer) {
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: frame})
	defer p.DecRef()
	c.InjectInbound(0, p) // the protocol is in the Ethernet header
}
