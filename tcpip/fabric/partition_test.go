package fabric

import (
	"testing"
	"time"
)

// pair is a lab of two hosts and a link with a delay of 10 ms.
func inPair(t *testing.T, test func(l *lab, a, b *Node)) {
	t.Helper()
	inLab(t, Config{}, func(l *lab) {
		a, b := l.host("a"), l.host("b")
		l.join(Path{Delay: 10 * time.Millisecond}, a, b)
		test(l, a, b)
	})
}

var (
	there     = udp("10.0.0.1:1", "10.0.0.2:2")
	back      = udp("10.0.0.2:2", "10.0.0.1:1")
	getsThere = "b gets udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 64"
	getsBack  = "a gets udp 10.0.0.2:2 > 10.0.0.1:1 len 10 ttl 64"
)

const cutThere, cutBack = "a drops udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 64: partitioned", "b drops udp 10.0.0.2:2 > 10.0.0.1:1 len 10 ttl 64: partitioned"

func TestPartitions(t *testing.T) {
	inPair(t, func(l *lab, a, b *Node) {
		both := func(when string, want ...string) {
			t.Helper()
			l.write(a, there)
			l.write(b, back)
			l.want(when, want...)
		}
		both("before", getsThere, getsBack)
		l.Partition(a, b, false)
		both("partitioned", cutThere, cutBack)
		l.Heal(b, a)
		both("healed", getsThere, getsBack)
		l.Partition(b, a, true)
		both("partitioned in one direction", cutBack, getsThere)
		l.Partition(a, b, true)
		l.HealAll()
		both("all healed", getsThere, getsBack)
	})
	inPair(t, func(l *lab, a, b *Node) {
		l.write(a, there)
		l.write(b, back)
		l.pass(5 * time.Millisecond)
		l.Partition(a, b, true)
		l.want("packets in flight", "b drops udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 64: partitioned", getsBack)
	})
}

// A partition of two hosts does not affect a third one, nor the routers between them. It holds
// through a NAT, whose translation hides the hosts.
func TestPartitionsAreOfHosts(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		a, b, c, r := l.host("a"), l.host("b"), l.host("c"), must(t)(l.Router("r"))
		for _, n := range []*Node{a, b, c} {
			l.join(Path{}, n, r)
		}
		l.Partition(a, b, false)
		l.write(a, there, udp("10.0.0.1:1", "10.0.0.3:2"), echo("10.0.0.1", "10.0.0.4", 1), udp("10.0.0.1:1", "255.255.255.255:2"))
		l.want("partitioned", cutThere, "c gets udp 10.0.0.1:1 > 10.0.0.3:2 len 10 ttl 63", "r gets icmp 10.0.0.1 > 10.0.0.4 echo 8 id 1 ttl 64", "a gets icmp 10.0.0.4 > 10.0.0.1 echo 0 id 1 ttl 64",
			"r drops udp 10.0.0.1:1 > 255.255.255.255:2 len 10 ttl 63: no route")
	})
	inHome(t, NATConfig{}, func(h *home) {
		h.write(h.in, udp("192.168.1.2:5", "10.0.0.1:7"))
		h.want("before", "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63")
		h.Partition(h.in, h.server, false)
		h.write(h.in, udp("192.168.1.2:5", "10.0.0.1:7"), udp("192.168.1.2:5", "10.0.0.2:7"))
		h.write(h.server, udp("10.0.0.1:7", "10.0.0.3:5"))
		h.want("partitioned", "nat drops udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63: partitioned", "nat drops udp 10.0.0.1:7 > 192.168.1.2:5 len 10 ttl 63: partitioned",
			"other gets udp 10.0.0.3:5 > 10.0.0.2:7 len 10 ttl 63")
	})
}

// A paused host holds what it writes and what arrives, in order, until it resumes: up to 1,024
// packets.
func TestAPausedHostHoldsPackets(t *testing.T) {
	inPair(t, func(l *lab, a, b *Node) {
		a.Pause()
		l.write(a, there)
		l.write(b, back)
		l.want("paused")
		a.Resume()
		l.want("resumed", getsBack, getsThere)
		a.Resume()
		l.want("resumed again")
		a.Pause()
		for range 1030 {
			l.write(b, back)
		}
		dropped := l.pass(time.Second)
		if len(dropped) != 6 || dropped[0] != "a drops udp 10.0.0.2:2 > 10.0.0.1:1 len 10 ttl 64: host down" {
			t.Errorf("1,030 packets for a paused host: got the events %q, want 6 drops: host down", dropped)
		}
		a.Resume()
		if got := l.pass(time.Second); len(got) != 1024 || got[0] != getsBack {
			t.Errorf("resumed: got %d events, want 1,024 deliveries", len(got))
		}
	})
}

// Packets that are under way to a detached host are dropped, as are those that it held. A new
// interface starts empty, and the old one carries nothing any more.
func TestADetachedHostIsDown(t *testing.T) {
	inPair(t, func(l *lab, a, b *Node) {
		const down = "a drops udp 10.0.0.2:2 > 10.0.0.1:1 len 10 ttl 64: host down"
		l.write(b, back)
		l.pass(5 * time.Millisecond)
		a.Detach()
		l.want("in flight", down)
		l.write(a, there)
		l.write(b, back)
		l.want("detached", down)
		old := l.links[a]
		l.attach(a)
		l.write(a, there)
		l.write(b, back)
		l.want("attached again", getsThere, getsBack)
		a.Pause()
		l.write(b, back)
		l.want("paused")
		a.Detach()
		a.Resume()
		l.want("what it held is dropped", down)
		now := l.links[a]
		l.links[a] = old
		l.write(a, there)
		l.want("the old interface")
		l.links[a] = now
		old.Close()
	})
}

// The NIC gives a stack what is delivered, and refuses what no card would send.
func TestTheInterfaceOfAHost(t *testing.T) {
	inPair(t, func(l *lab, a, b *Node) {
		long := datagram{from: "10.0.0.1:1", to: "10.0.0.2:2", length: 1500}.bytes()
		l.write(a, there, nil, long)
		l.want("a packet, none, and one beyond the MTU", getsThere)
		if c := l.links[a].Queue(0).Counters(); c.Sent != 1 || c.SentBytes != uint64(len(there)) {
			t.Errorf("got %d packets and %d bytes sent, want 1 and %d", c.Sent, c.SentBytes, len(there))
		}
		for range queueDepth + 10 {
			l.write(a, there)
		}
		full := 0
		for _, e := range l.pass(time.Second) {
			if e != getsThere {
				full++
			}
		}
		if full != 11 {
			t.Errorf("a stack that does not read: got %d packets dropped, want 11", full)
		}
	})
}
