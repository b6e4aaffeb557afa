package fabric

import (
	"testing"
	"time"
)

// Routers forward, decrement the TTL, and answer what they cannot forward (RFC 1812).
func TestRouters(t *testing.T) {
	for _, c := range []struct {
		name   string
		mtu    int // of the link from r1 to r2
		hole   bool
		packet []byte
		want   []string
	}{
		{"a packet crosses two routers", 0, false, udp("10.0.0.1:1", "10.0.0.4:2"),
			[]string{"b gets udp 10.0.0.1:1 > 10.0.0.4:2 len 10 ttl 62"}},
		{"IPv6 crosses two routers", 0, false, udp("[fd00::1]:1", "[fd00::4]:2"),
			[]string{"b gets udp fd00::1:1 > fd00::4:2 len 10 ttl 62"}},
		{"the TTL runs out at the second router", 0, false, datagram{from: "10.0.0.1:1", to: "10.0.0.4:2", ttl: 2}.bytes(),
			[]string{"r2 drops udp 10.0.0.1:1 > 10.0.0.4:2 len 0 ttl 1: TTL expired", "a gets icmp 10.0.0.3 > 10.0.0.1 error 11.0 (udp 10.0.0.1:1 > 10.0.0.4:2 len 0) ttl 63"}},
		{"the hop limit runs out at the first router", 0, false, datagram{from: "[fd00::1]:1", to: "[fd00::4]:2", ttl: 1}.bytes(),
			[]string{"r1 drops udp fd00::1:1 > fd00::4:2 len 0 ttl 1: TTL expired", "a gets icmp fd00::2 > fd00::1 error 3.0 (udp fd00::1:1 > fd00::4:2 len 0) ttl 64"}},
		{"an address that no node has", 0, false, udp("10.0.0.1:1", "10.0.0.99:2"),
			[]string{"a drops udp 10.0.0.1:1 > 10.0.0.99:2 len 10 ttl 64: no route", "a gets icmp 10.255.255.254 > 10.0.0.1 error 3.0 (udp 10.0.0.1:1 > 10.0.0.99:2 len 10) ttl 64"}},
		{"an address that no link leads to", 0, false, udp("10.0.0.1:1", "10.0.0.5:2"),
			[]string{"a drops udp 10.0.0.1:1 > 10.0.0.5:2 len 10 ttl 64: no route", "a gets icmp 10.255.255.254 > 10.0.0.1 error 3.0 (udp 10.0.0.1:1 > 10.0.0.5:2 len 10) ttl 64"}},
		{"a multicast ends at the router", 0, false, udp("10.0.0.1:1", "224.0.0.251:2"),
			[]string{"r1 drops udp 10.0.0.1:1 > 224.0.0.251:2 len 10 ttl 63: no route"}},
		{"an expired multicast is not answered", 0, false, datagram{from: "10.0.0.1:1", to: "224.0.0.251:2", ttl: 1}.bytes(),
			[]string{"r1 drops udp 10.0.0.1:1 > 224.0.0.251:2 len 0 ttl 1: TTL expired"}},
		{"too big, with DF", 576, false, datagram{from: "10.0.0.1:1", to: "10.0.0.4:2", length: 700, df: true}.bytes(),
			[]string{"r1 drops udp 10.0.0.1:1 > 10.0.0.4:2 len 700 ttl 63: too big", "a gets icmp 10.0.0.2 > 10.0.0.1 error 3.4 mtu 576 (udp 10.0.0.1:1 > 10.0.0.4:2 len 700) ttl 64"}},
		{"too big, without DF", 576, false, datagram{from: "10.0.0.1:1", to: "10.0.0.4:2", length: 700}.bytes(),
			[]string{"b gets fragment 0+ len 552 ttl 62", "b gets fragment 552 len 156 ttl 62"}},
		{"too big for IPv6", 1280, false, datagram{from: "[fd00::1]:1", to: "[fd00::4]:2", length: 1300}.bytes(),
			[]string{"r1 drops udp fd00::1:1 > fd00::4:2 len 1300 ttl 63: too big", "a gets icmp fd00::2 > fd00::1 error 2.0 mtu 1280 (udp fd00::1:1 > fd00::4:2 len 1300) ttl 64"}},
		{"too big for a black hole", 576, true, datagram{from: "10.0.0.1:1", to: "10.0.0.4:2", length: 700}.bytes(),
			[]string{"r1 drops udp 10.0.0.1:1 > 10.0.0.4:2 len 700 ttl 63: too big"}},
		{"as big as the MTU", 576, false, datagram{from: "10.0.0.1:1", to: "10.0.0.4:2", length: 576 - 28, df: true}.bytes(),
			[]string{"b gets udp 10.0.0.1:1 > 10.0.0.4:2 len 548 ttl 62"}},
		{"an echo request to a router", 0, false, echo("10.0.0.1", "10.0.0.3", 7),
			[]string{"r2 gets icmp 10.0.0.1 > 10.0.0.3 echo 8 id 7 ttl 63", "a gets icmp 10.0.0.3 > 10.0.0.1 echo 0 id 7 ttl 63"}},
		{"an echo request of IPv6 to a router", 0, false, echo("fd00::1", "fd00::2", 7),
			[]string{"r1 gets icmp fd00::1 > fd00::2 echo 128 id 7 ttl 64", "a gets icmp fd00::2 > fd00::1 echo 129 id 7 ttl 64"}},
		{"a datagram to a router", 0, false, udp("10.0.0.1:1", "10.0.0.2:2"),
			[]string{"r1 drops udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 64: no route"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inLab(t, Config{}, func(l *lab) {
				a := l.host("a")
				r1, r2 := must(t)(l.Router("r1")), must(t)(l.Router("r2"))
				b := l.host("b")
				l.host("alone")
				l.join(Path{Delay: time.Millisecond}, a, r1)
				l.join(Path{Delay: time.Millisecond, MTU: c.mtu, BlackHole: c.hole}, r1, r2)
				l.join(Path{Delay: time.Millisecond}, r2, b)
				l.write(a, c.packet)
				l.want(c.name, c.want...)
			})
		})
	}
}

// Errors are not answered by errors, and neither are later fragments (RFC 1122, section 3.2.2).
func TestErrorsAreNotAnswered(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		a, r := l.host("a"), must(t)(l.Router("r"))
		b := l.host("b")
		l.join(Path{}, a, r)
		l.join(Path{MTU: 300}, r, b)
		expired := datagram{from: "10.0.0.1:1", to: "10.0.0.3:2", ttl: 1}.bytes()
		l.write(a, errorTo(b.addrs[0].Addr(), a.addrs[0].Addr(), datagram{from: "10.0.0.3:2", to: "10.0.0.1:1", length: 500}.bytes(), problem{type4: 3, code4: 3}))
		l.want("an error that is fragmented", "b gets fragment 0+ len 280 ttl 63", "b gets fragment 280 len 256 ttl 63")
		later := datagram{from: "10.0.0.1:1", to: "10.0.0.3:2", ttl: 1}.bytes()
		later[7] = 5 // the fragment offset
		updateChecksum(later[10:], 0, 5)
		l.write(a, later)
		l.want("a later fragment whose TTL has run out", "r drops fragment 40 len 8 ttl 1: TTL expired")
		e := errorTo(b.addrs[0].Addr(), a.addrs[0].Addr(), expired, expired4())
		e[8] = 1
		updateChecksum(e[10:], 64<<8, 1<<8)
		l.write(a, e)
		l.want("an error whose TTL has run out", "r drops icmp 10.0.0.1 > 10.0.0.3 error 11.0 (udp 10.0.0.1:1 > 10.0.0.3:2 len 0) ttl 1: TTL expired")
	})
}

func expired4() problem { return expired }

// Fragments are fragmented again by a smaller MTU, and keep their places.
func TestFragmentsAreFragmentedAgain(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		a, r1, r2, b := l.host("a"), must(t)(l.Router("r1")), must(t)(l.Router("r2")), l.host("b")
		l.join(Path{}, a, r1)
		l.join(Path{MTU: 620}, r1, r2)
		l.join(Path{MTU: 320}, r2, b)
		l.write(a, datagram{from: "10.0.0.1:1", to: "10.0.0.4:2", length: 1192}.bytes())
		l.want("1,200 bytes", "b gets fragment 0+ len 296 ttl 62", "b gets fragment 296+ len 296 ttl 62", "b gets fragment 592+ len 8 ttl 62",
			"b gets fragment 600+ len 296 ttl 62", "b gets fragment 896+ len 296 ttl 62", "b gets fragment 1192 len 8 ttl 62")
	})
}

// Of routes with as many links, the one that was connected first is taken. New links count.
func TestRoutesAreTheShortest(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		a, b := l.host("a"), l.host("b")
		r1, r2, r3 := must(t)(l.Router("r1")), must(t)(l.Router("r2")), must(t)(l.Router("r3"))
		l.join(Path{}, a, r1, r2, b)
		l.write(a, udp("10.0.0.1:1", "10.0.0.2:2"))
		l.want("the only route", "b gets udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 62")
		l.join(Path{}, a, r3, b)
		l.write(a, udp("10.0.0.1:1", "10.0.0.2:2"))
		l.want("a shorter route", "b gets udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 63")
		l.join(Path{Loss: 1}, a, r2)
		l.write(a, udp("10.0.0.1:1", "10.0.0.2:2"))
		l.want("as short a route", "b gets udp 10.0.0.1:1 > 10.0.0.2:2 len 10 ttl 63")
	})
}
