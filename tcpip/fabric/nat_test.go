package fabric

import (
	"strings"
	"testing"
	"time"
)

// home is a network of an inside host, a NAT, and two servers at a switch outside:
// in (192.168.1.2) - nat (10.0.0.3 outside, 192.168.1.1 inside) - switch - server, other.
type home struct {
	*lab
	server, other, nat, in *Node
	inner                  *Link
}

func inHome(t *testing.T, c NATConfig, test func(*home)) {
	t.Helper()
	inLab(t, Config{}, func(l *lab) {
		h := &home{lab: l, server: l.host("server"), other: l.host("other")}
		h.nat = must(t)(l.NAT("nat", c))
		h.in = l.attach(must(t)(h.nat.HostWith("in", HostConfig{})))
		s := must(t)(l.Switch("switch"))
		h.inner = l.join(Path{Delay: time.Millisecond}, h.in, h.nat)[0]
		for _, n := range []*Node{h.nat, h.server, h.other} {
			l.join(Path{Delay: time.Millisecond}, n, s)
		}
		test(h)
	})
}

// step is a packet that a host writes, and what happens to it.
type step struct {
	by     string // in, server, other
	packet []byte
	want   string // or several, separated by "; "
}

func (h *home) run(name string, steps []step) {
	h.t.Helper()
	for _, s := range steps {
		h.write(h.byName[s.by], s.packet)
		h.want(name, strings.Split(s.want, "; ")...)
	}
}

// A mapping is the same for all peers; who may answer depends on the filter (RFC 4787).
func TestNATMapsAndFilters(t *testing.T) {
	for _, c := range []struct {
		name   string
		config NATConfig
		steps  []step
	}{
		{"the peer may answer", NATConfig{}, []step{
			{"in", udp("192.168.1.2:5", "10.0.0.1:7"), "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63"},
			{"server", udp("10.0.0.1:7", "10.0.0.3:5"), "in gets udp 10.0.0.1:7 > 192.168.1.2:5 len 10 ttl 63"},
		}},
		{"another port or host may not", NATConfig{}, []step{
			{"in", udp("192.168.1.2:5", "10.0.0.1:7"), "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63"},
			{"server", udp("10.0.0.1:8", "10.0.0.3:5"), "nat drops udp 10.0.0.1:8 > 10.0.0.3:5 len 10 ttl 63: filtered by NAT"},
			{"other", udp("10.0.0.2:7", "10.0.0.3:5"), "nat drops udp 10.0.0.2:7 > 10.0.0.3:5 len 10 ttl 63: filtered by NAT"},
		}},
		{"with an open filter they may", NATConfig{OpenFilter: true}, []step{
			{"in", udp("192.168.1.2:5", "10.0.0.1:7"), "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63"},
			{"other", udp("10.0.0.2:9", "10.0.0.3:5"), "in gets udp 10.0.0.2:9 > 192.168.1.2:5 len 10 ttl 63"},
			{"other", udp("10.0.0.2:9", "10.0.0.3:6"), "nat drops udp 10.0.0.2:9 > 10.0.0.3:6 len 10 ttl 63: filtered by NAT"},
		}},
		{"a second peer has the same mapping", NATConfig{}, []step{
			{"in", tcp("192.168.1.2:5", "10.0.0.1:7"), "server gets tcp 10.0.0.3:5 > 10.0.0.1:7 ttl 63"},
			{"in", tcp("192.168.1.2:5", "10.0.0.2:7"), "other gets tcp 10.0.0.3:5 > 10.0.0.2:7 ttl 63"},
			{"other", tcp("10.0.0.2:7", "10.0.0.3:5"), "in gets tcp 10.0.0.2:7 > 192.168.1.2:5 ttl 63"},
		}},
		{"TCP and UDP have mappings of their own", NATConfig{}, []step{
			{"in", tcp("192.168.1.2:5", "10.0.0.1:7"), "server gets tcp 10.0.0.3:5 > 10.0.0.1:7 ttl 63"},
			{"server", udp("10.0.0.1:7", "10.0.0.3:5"), "nat drops udp 10.0.0.1:7 > 10.0.0.3:5 len 10 ttl 63: filtered by NAT"},
		}},
		{"an echo is answered by its peer only", NATConfig{}, []step{
			{"in", echo("192.168.1.2", "10.0.0.1", 9), "server gets icmp 10.0.0.3 > 10.0.0.1 echo 8 id 9 ttl 63"},
			{"other", echo("10.0.0.2", "10.0.0.3", 9), "nat gets icmp 10.0.0.2 > 10.0.0.3 echo 8 id 9 ttl 64; other gets icmp 10.0.0.3 > 10.0.0.2 echo 0 id 9 ttl 64"},
		}},
		{"the NAT answers echo requests to its addresses", NATConfig{}, []step{
			{"in", echo("192.168.1.2", "192.168.1.1", 9), "nat gets icmp 192.168.1.2 > 192.168.1.1 echo 8 id 9 ttl 64; in gets icmp 192.168.1.1 > 192.168.1.2 echo 0 id 9 ttl 64"},
			{"in", echo("192.168.1.2", "10.0.0.3", 9), "nat gets icmp 192.168.1.2 > 10.0.0.3 echo 8 id 9 ttl 64; in gets icmp 10.0.0.3 > 192.168.1.2 echo 0 id 9 ttl 64"},
			{"server", echo("10.0.0.1", "10.0.0.3", 9), "nat gets icmp 10.0.0.1 > 10.0.0.3 echo 8 id 9 ttl 64; server gets icmp 10.0.0.3 > 10.0.0.1 echo 0 id 9 ttl 64"},
		}},
		{"what it cannot translate is dropped", NATConfig{}, []step{
			{"in", fragmentTo("10.0.0.1:7"), "nat drops fragment 40 len 8 ttl 64: malformed"},
			{"in", udp("192.168.1.2:5", "192.168.1.255:7"), "nat drops udp 192.168.1.2:5 > 192.168.1.255:7 len 10 ttl 64: malformed"},
			{"in", udp("192.168.1.2:5", "255.255.255.255:7"), "nat drops udp 192.168.1.2:5 > 255.255.255.255:7 len 10 ttl 64: malformed"},
			{"in", udp("192.168.1.2:5", "224.0.0.251:7"), "nat drops udp 192.168.1.2:5 > 224.0.0.251:7 len 10 ttl 64: malformed"},
			{"server", udp("10.0.0.1:7", "10.0.0.3:5"), "nat drops udp 10.0.0.1:7 > 10.0.0.3:5 len 10 ttl 63: filtered by NAT"},
			{"server", udp("10.0.0.1:7", "192.168.1.2:5"), "server drops udp 10.0.0.1:7 > 192.168.1.2:5 len 10 ttl 64: no route; " +
				"server gets icmp 10.255.255.254 > 10.0.0.1 error 3.0 (udp 10.0.0.1:7 > 192.168.1.2:5 len 10) ttl 64"},
		}},
	} {
		inHome(t, c.config, func(h *home) { h.run(c.name, c.steps) })
	}
}

// fragmentTo is a fragment of the inside host that is not the first one.
func fragmentTo(to string) []byte {
	b := datagram{from: "192.168.1.2:5", to: to}.bytes()
	b[7] = 5 // the offset, in units of eight bytes
	updateChecksum(b[10:], 0, 5)
	return b
}

// Two hosts behind a NAT may use the same port: the second one gets another.
func TestNATPortsAreUnique(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		second := h.attach(must(t)(h.nat.HostWith("second", HostConfig{})))
		h.join(Path{}, second, h.nat)
		h.write(h.in, udp("192.168.1.2:5", "10.0.0.1:7"))
		h.want("the first host", "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63")
		h.write(second, udp("192.168.1.3:5", "10.0.0.1:7"))
		h.want("the second host", "server gets udp 10.0.0.3:1024 > 10.0.0.1:7 len 10 ttl 63")
		h.write(h.server, udp("10.0.0.1:7", "10.0.0.3:1024"), udp("10.0.0.1:7", "10.0.0.3:5"))
		h.want("the answers", "second gets udp 10.0.0.1:7 > 192.168.1.3:5 len 10 ttl 63", "in gets udp 10.0.0.1:7 > 192.168.1.2:5 len 10 ttl 63")
	})
}

// A mapping expires that no packet from inside has used for its time.
func TestNATMappingsExpire(t *testing.T) {
	answer := func(h *home, wait time.Duration, pass bool, b []byte, passed, dropped string) {
		h.t.Helper()
		h.pass(wait)
		h.write(h.server, b)
		want := dropped
		if pass {
			want = passed
		}
		h.want("after "+wait.String(), want)
	}
	answerUDP := func(h *home, wait time.Duration, pass bool) {
		h.t.Helper()
		answer(h, wait, pass, udp("10.0.0.1:7", "10.0.0.3:5"), "in gets udp 10.0.0.1:7 > 192.168.1.2:5 len 10 ttl 63", "nat drops udp 10.0.0.1:7 > 10.0.0.3:5 len 10 ttl 63: filtered by NAT")
	}
	answerTCP := func(h *home, wait time.Duration, pass bool) {
		h.t.Helper()
		answer(h, wait, pass, tcp("10.0.0.1:7", "10.0.0.3:5"), "in gets tcp 10.0.0.1:7 > 192.168.1.2:5 ttl 63", "nat drops tcp 10.0.0.1:7 > 10.0.0.3:5 ttl 63: filtered by NAT")
	}
	inHome(t, NATConfig{}, func(h *home) {
		h.write(h.in, udp("192.168.1.2:5", "10.0.0.1:7"), tcp("192.168.1.2:5", "10.0.0.1:7"))
		h.want("the mappings", "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63", "server gets tcp 10.0.0.3:5 > 10.0.0.1:7 ttl 63")
		answerUDP(h, 100*time.Second, true) // at 110 s; packets from outside do not renew it
		answerUDP(h, 10*time.Second, false)
		answerTCP(h, 2*time.Hour, true)
		answerTCP(h, 2*time.Minute, false)
	})
	inHome(t, NATConfig{UDPTimeout: time.Minute, TCPTimeout: 2 * time.Minute}, func(h *home) {
		for range 5 {
			h.write(h.in, udp("192.168.1.2:5", "10.0.0.1:7"))
			h.want("a packet every 50 s renews it", "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 63")
			h.pass(40 * time.Second)
		}
		answerUDP(h, 0, true)
		answerUDP(h, time.Minute, false)
	})
}

// A published port leads inside from anywhere, does not expire, and survives Forget.
func TestNATPublishesPorts(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		if err := h.nat.Publish(80, h.in, 8080); err != nil {
			t.Fatal(err)
		}
		h.pass(24 * time.Hour)
		h.nat.Forget()
		h.run("a published port", []step{
			{"other", tcp("10.0.0.2:9", "10.0.0.3:80"), "in gets tcp 10.0.0.2:9 > 192.168.1.2:8080 ttl 63"},
			{"in", tcp("192.168.1.2:8080", "10.0.0.2:9"), "other gets tcp 10.0.0.3:80 > 10.0.0.2:9 ttl 63"},
			{"other", udp("10.0.0.2:9", "10.0.0.3:80"), "in gets udp 10.0.0.2:9 > 192.168.1.2:8080 len 10 ttl 63"},
		})
		for name, err := range map[string]error{
			"a port twice":           h.nat.Publish(80, h.in, 81),
			"a host's port twice":    h.nat.Publish(81, h.in, 8080),
			"port 0":                 h.nat.Publish(0, h.in, 81),
			"port 0 of the host":     h.nat.Publish(82, h.in, 0),
			"a host that is outside": h.nat.Publish(83, h.other, 80),
			"no host":                h.nat.Publish(83, nil, 80),
			"at a host":              h.other.Publish(83, h.in, 80),
		} {
			if err == nil {
				t.Errorf("Publish, %s: got no error, want one", name)
			}
		}
	})
}

// A NAT that forgets its mappings drops what comes for them. The next packet from inside makes
// another one.
func TestNATForgets(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		out := step{"in", tcp("192.168.1.2:5", "10.0.0.1:7"), "server gets tcp 10.0.0.3:5 > 10.0.0.1:7 ttl 63"}
		back := tcp("10.0.0.1:7", "10.0.0.3:5")
		h.run("before", []step{out})
		h.nat.Forget()
		h.run("after", []step{{"server", back, "nat drops tcp 10.0.0.1:7 > 10.0.0.3:5 ttl 63: filtered by NAT"}, out, {"server", back, "in gets tcp 10.0.0.1:7 > 192.168.1.2:5 ttl 63"}})
		h.other.Forget() // it is no NAT
	})
}

// Hosts behind a NAT reach each other by its outer address, too (RFC 4787, REQ-9).
func TestNATTurnsPacketsBack(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		second := h.attach(must(t)(h.nat.HostWith("second", HostConfig{})))
		h.join(Path{}, second, h.nat)
		if err := h.nat.Publish(80, h.in, 8080); err != nil {
			t.Fatal(err)
		}
		h.write(second, tcp("192.168.1.3:9", "10.0.0.3:80"))
		h.want("to a published port", "in gets tcp 10.0.0.3:9 > 192.168.1.2:8080 ttl 63")
		h.write(h.in, tcp("192.168.1.2:8080", "10.0.0.3:9"))
		h.want("its answer", "second gets tcp 10.0.0.3:80 > 192.168.1.3:9 ttl 63")
		h.write(second, tcp("192.168.1.3:9", "10.0.0.3:81"))
		h.want("to another port", "nat drops tcp 10.0.0.3:9 > 10.0.0.3:81 ttl 63: filtered by NAT")
	})
}

// Packets cross two NATs, and errors find their way back.
func TestNATBehindANAT(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		inner := must(t)(h.nat.NAT("inner", NATConfig{}))
		deep := h.attach(must(t)(inner.HostWith("deep", HostConfig{})))
		h.join(Path{}, deep, inner, h.nat)
		h.write(deep, udp("192.168.2.2:5", "10.0.0.1:7"))
		h.want("outward", "server gets udp 10.0.0.3:5 > 10.0.0.1:7 len 10 ttl 62")
		h.write(h.server, udp("10.0.0.1:7", "10.0.0.3:5"))
		h.want("inward", "deep gets udp 10.0.0.1:7 > 192.168.2.2:5 len 10 ttl 62")
		h.write(deep, udp("192.168.2.2:5", "192.168.1.2:7"))
		h.want("to the middle", "in gets udp 192.168.1.3:5 > 192.168.1.2:7 len 10 ttl 63")
		h.write(deep, datagram{from: "192.168.2.2:5", to: "10.0.0.1:7", ttl: 2}.bytes())
		h.want("expired at the outer NAT", "nat drops udp 192.168.1.3:5 > 10.0.0.1:7 len 0 ttl 1: TTL expired",
			"deep gets icmp 192.168.1.1 > 192.168.2.2 error 11.0 (udp 192.168.2.2:5 > 10.0.0.1:7 len 0) ttl 63")
		h.write(h.server, errorTo(h.nat.addrs[0].Addr(), h.server.addrs[0].Addr(), udp("10.0.0.3:5", "10.0.0.1:7"), problem{type4: 3, code4: 3}))
		h.want("an error of the server", "deep gets icmp 10.0.0.1 > 192.168.2.2 error 3.3 (udp 192.168.2.2:5 > 10.0.0.1:7 len 10) ttl 62")
	})
}

// Errors about translated packets are translated, so that path MTU discovery works through a NAT
// (RFC 5508, section 4): wherever the small MTU is.
func TestErrorsPassANAT(t *testing.T) {
	big := datagram{from: "192.168.1.2:5", to: "10.0.0.1:7", length: 1000, df: true}.bytes()
	for _, c := range []struct {
		name string
		link int // whose MTU is small: 0 in - nat, 1 nat - r, 2 r - server
		want []string
	}{
		{"at a router behind the NAT", 2, []string{"r drops udp 10.0.0.2:5 > 10.0.0.1:7 len 1000 ttl 62: too big", "in gets icmp 10.0.0.3 > 192.168.1.2 error 3.4 mtu 600 (udp 192.168.1.2:5 > 10.0.0.1:7 len 1000) ttl 63"}},
		{"at the NAT itself", 1, []string{"nat drops udp 10.0.0.2:5 > 10.0.0.1:7 len 1000 ttl 63: too big", "in gets icmp 192.168.1.1 > 192.168.1.2 error 3.4 mtu 600 (udp 192.168.1.2:5 > 10.0.0.1:7 len 1000) ttl 64"}},
		{"at the host", 0, []string{"in drops udp 192.168.1.2:5 > 10.0.0.1:7 len 1000 ttl 64: too big", "in gets icmp 192.168.1.254 > 192.168.1.2 error 3.4 mtu 600 (udp 192.168.1.2:5 > 10.0.0.1:7 len 1000) ttl 64"}},
	} {
		inLab(t, Config{}, func(l *lab) {
			server, nat, r := l.host("server"), must(t)(l.NAT("nat", NATConfig{})), must(t)(l.Router("r"))
			in := l.attach(must(t)(nat.HostWith("in", HostConfig{})))
			links := l.join(Path{Delay: time.Millisecond}, in, nat, r, server)
			if err := links[c.link].Set(Path{MTU: 600}, Path{}); err != nil {
				t.Fatal(err)
			}
			l.write(in, big)
			l.want(c.name, c.want...)
		})
	}
}

// An inside host's error about a packet that it was sent reaches the sender, as does that of the
// NAT about its inner link.
func TestErrorsOfTheInside(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		if err := h.nat.Publish(80, h.in, 8080); err != nil {
			t.Fatal(err)
		}
		h.write(h.in, errorTo(h.server.addrs[0].Addr(), h.in.addrs[0].Addr(), udp("10.0.0.1:7", "192.168.1.2:8080"), problem{type4: 3, code4: 3}))
		h.want("port unreachable", "server gets icmp 10.0.0.3 > 10.0.0.1 error 3.3 (udp 10.0.0.1:7 > 10.0.0.3:80 len 10) ttl 63")
		if err := h.inner.Set(Path{}, Path{MTU: 600}); err != nil {
			t.Fatal(err)
		}
		h.write(h.server, datagram{from: "10.0.0.1:7", to: "10.0.0.3:80", length: 1000, df: true}.bytes())
		h.want("the inner link is too small", "nat drops udp 10.0.0.1:7 > 192.168.1.2:8080 len 1000 ttl 63: too big",
			"server gets icmp 10.0.0.3 > 10.0.0.1 error 3.4 mtu 600 (udp 10.0.0.1:7 > 10.0.0.3:80 len 1000) ttl 64")
		h.write(h.in, errorTo(h.server.addrs[0].Addr(), h.in.addrs[0].Addr(), udp("10.0.0.1:7", "192.168.1.2:1"), problem{type4: 3, code4: 3}))
		h.want("about a packet without a mapping", "nat drops icmp 192.168.1.2 > 10.0.0.1 error 3.3 (udp 10.0.0.1:7 > 192.168.1.2:1 len 10) ttl 63: malformed")
		h.write(h.server, errorTo(h.nat.addrs[0].Addr(), h.server.addrs[0].Addr(), udp("10.0.0.3:1", "10.0.0.1:7"), problem{type4: 3, code4: 3}))
		h.want("from outside, about a packet without a mapping", "nat drops icmp 10.0.0.1 > 10.0.0.3 error 3.3 (udp 10.0.0.3:1 > 10.0.0.1:7 len 10) ttl 63: filtered by NAT")
	})
}

// Hosts at the inner links of a NAT are in one network, without a translation between them.
func TestHostsBehindANATReachEachOther(t *testing.T) {
	inHome(t, NATConfig{}, func(h *home) {
		second, r := h.attach(must(t)(h.nat.HostWith("second", HostConfig{}))), must(t)(h.nat.Router("r"))
		third := h.attach(must(t)(h.nat.HostWith("third", HostConfig{})))
		h.join(Path{}, second, h.nat, r, third)
		h.run("one link each", []step{{"in", udp("192.168.1.2:5", "192.168.1.3:7"), "second gets udp 192.168.1.2:5 > 192.168.1.3:7 len 10 ttl 64"}})
		h.run("a fragment", []step{{"in", fragmentTo("192.168.1.3:7"), "second gets fragment 40 len 8 ttl 64"}})
		h.run("behind a router", []step{{"third", udp("192.168.1.5:5", "192.168.1.2:7"), "in gets udp 192.168.1.5:5 > 192.168.1.2:7 len 10 ttl 63"}})
	})
}
