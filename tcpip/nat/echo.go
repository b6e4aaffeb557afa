package nat

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"weir/tcpip"
)

// echoTimeout is how long a reply is waited for.
const echoTimeout = 10 * time.Second

// forwardEcho answers an echo request when the far end has.
func (n *NAT) forwardEcho(r *tcpip.EchoRequest) {
	host := r.From()
	if !n.begin(host) {
		r.Drop()
		return
	}
	n.tasks.Go(func() { // until the reply, echoTimeout, or Close
		defer n.end(host)
		to, ok := n.config.onward(netip.AddrPortFrom(r.To(), 0))
		if !ok {
			r.Reject(syscall.EACCES)
			return
		}
		n.relayEcho(r, to.Addr())
	})
}

func (n *NAT) relayEcho(r *tcpip.EchoRequest, to netip.Addr) {
	if n.config.NoEcho {
		r.Reject(syscall.EHOSTUNREACH)
		return
	}
	c, err := listenEcho(to)
	if err != nil { // the kernel does not allow it: see the package comment
		r.Reject(syscall.EHOSTUNREACH)
		return
	}
	if !n.keep(c) {
		r.Drop()
		return
	}
	defer n.close(c)
	switch replied, err := ping(c, to, r.Data()); {
	case replied:
		r.Reply()
	case err != nil:
		r.Reject(err)
	default:
		r.Drop()
	}
}

// listenEcho opens a ping socket.
func listenEcho(to netip.Addr) (*icmp.PacketConn, error) {
	if to.Is4() {
		return icmp.ListenPacket("udp4", "0.0.0.0")
	}
	return icmp.ListenPacket("udp6", "::")
}

// ping sends an echo request and reports whether a reply has arrived.
func ping(c *icmp.PacketConn, to netip.Addr, data []byte) (replied bool, err error) {
	echo := icmp.Type(ipv4.ICMPTypeEcho)
	protocol, reply := 1, icmp.Type(ipv4.ICMPTypeEchoReply)
	if to.Is6() {
		echo, protocol, reply = ipv6.ICMPTypeEchoRequest, 58, ipv6.ICMPTypeEchoReply
	}
	seq := int(rand.Uint32() & 0xffff)
	request, err := (&icmp.Message{Type: echo, Body: &icmp.Echo{Seq: seq, Data: data}}).Marshal(nil)
	if err != nil {
		return false, err
	}
	if _, err := c.WriteTo(request, &net.UDPAddr{IP: to.AsSlice()}); err != nil {
		return false, err
	}
	b := datagramBuffers.Get().(*[]byte)
	defer datagramBuffers.Put(b)
	_ = c.SetReadDeadline(time.Now().Add(echoTimeout)) // ReadFrom shows a closed socket
	for {
		size, from, err := c.ReadFrom(*b)
		if err != nil {
			return false, nil
		}
		m, err := icmp.ParseMessage(protocol, (*b)[:size])
		if err != nil || m.Type != reply {
			continue
		}
		if e, ok := m.Body.(*icmp.Echo); ok && e.Seq == seq && bytes.Equal(e.Data, data) && from.(*net.UDPAddr).IP.Equal(to.AsSlice()) {
			return true, nil
		}
	}
}
