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

// queueSize is how many packets may wait to be written, as in wireguard-go. Further packets are
// dropped.
const queueSize = 1024

// channelLink is a TAP device as netstack's link, in the manner of Go programs that embed netstack.
// It uses netstack's channel endpoint under its Ethernet. One goroutine reads the device and
// injects, and one reads the channel and writes. Both end with the process. Packets that arrive
// before a stack is attached are dropped.
func channelLink(t *tap, mtu int, address tcpip.LinkAddress) stack.LinkEndpoint {
	c := channel.New(queueSize, uint32(mtu+header.EthernetMinimumSize), address)
	if t.offload {
		// the device computes TCP checksums of sent packets: see tapLink.Capabilities
		c.SupportedGSOKind = stack.HostGSOSupported
		c.LinkEPCapabilities = stack.CapabilityRXChecksumOffload
	}
	go t.read(func(frame buffer.Buffer) { inject(c, frame) })
	go func() {
		for p := c.ReadContext(context.Background()); p != nil; p = c.ReadContext(context.Background()) {
			t.write(p) // a packet that the device rejects is lost, as on a wire
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
