package fabric

import (
	"testing"
	"time"
)

// A switch copies broadcasts and multicasts to all its links, and no other packet.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		name   string
		packet []byte
		want   []string
	}{
		{"a packet for one host", udp("10.0.0.1:1", "10.0.0.3:2"), []string{"c gets udp 10.0.0.1:1 > 10.0.0.3:2 len 10 ttl 64"}},
		{"a broadcast", udp("10.0.0.1:1", "255.255.255.255:2"),
			[]string{"b gets udp 10.0.0.1:1 > 255.255.255.255:2 len 10 ttl 64", "c gets udp 10.0.0.1:1 > 255.255.255.255:2 len 10 ttl 64"}},
		{"a broadcast of the network", udp("10.0.0.1:1", "10.255.255.255:2"),
			[]string{"b gets udp 10.0.0.1:1 > 10.255.255.255:2 len 10 ttl 64", "c gets udp 10.0.0.1:1 > 10.255.255.255:2 len 10 ttl 64"}},
		{"a multicast", udp("10.0.0.1:1", "224.0.0.251:2"),
			[]string{"b gets udp 10.0.0.1:1 > 224.0.0.251:2 len 10 ttl 64", "c gets udp 10.0.0.1:1 > 224.0.0.251:2 len 10 ttl 64"}},
		{"a multicast of IPv6", udp("[fd00::1]:1", "[ff02::1]:2"),
			[]string{"b gets udp fd00::1:1 > ff02::1:2 len 10 ttl 64", "c gets udp fd00::1:1 > ff02::1:2 len 10 ttl 64"}},
		{"an echo request to a multicast address", echo("10.0.0.1", "224.0.0.1", 3),
			[]string{"b gets icmp 10.0.0.1 > 224.0.0.1 echo 8 id 3 ttl 64", "c gets icmp 10.0.0.1 > 224.0.0.1 echo 8 id 3 ttl 64"}},
	} {
		inLab(t, Config{}, func(l *lab) {
			a, b, cc, s := l.host("a"), l.host("b"), l.host("c"), must(t)(l.Switch("s"))
			for _, n := range []*Node{a, b, cc} {
				l.join(Path{Delay: time.Millisecond}, n, s)
			}
			l.write(a, c.packet)
			l.want(c.name, c.want...)
		})
	}
}

// A multicast that no other host can get is dropped.
func TestAMulticastWithoutReceiversIsDropped(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		a := l.host("a")
		l.write(a, udp("10.0.0.1:1", "224.0.0.251:2"))
		l.want("no link", "a drops udp 10.0.0.1:1 > 224.0.0.251:2 len 10 ttl 64: no route")
		l.join(Path{}, a, must(t)(l.Switch("s")))
		l.write(a, udp("10.0.0.1:1", "224.0.0.251:2"))
		l.want("a switch alone", "s drops udp 10.0.0.1:1 > 224.0.0.251:2 len 10 ttl 64: no route")
	})
}

// In a ring of switches, with a double link, each host gets a broadcast once, and it ends.
func TestABroadcastEndsInARingOfSwitches(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		s1, s2, s3 := must(t)(l.Switch("s1")), must(t)(l.Switch("s2")), must(t)(l.Switch("s3"))
		a, b, c := l.host("a"), l.host("b"), l.host("c")
		p := Path{Delay: time.Millisecond}
		l.join(p, s1, s2, s3, s1)
		l.join(p, s1, s2)
		l.join(p, a, s1)
		l.join(p, b, s2)
		l.join(p, c, s3)
		l.write(a, udp("10.0.0.1:1", "255.255.255.255:2"))
		l.want("a broadcast", "b gets udp 10.0.0.1:1 > 255.255.255.255:2 len 10 ttl 64", "c gets udp 10.0.0.1:1 > 255.255.255.255:2 len 10 ttl 64")
	})
}

// A network that hosts have by their own addresses has a broadcast address too, unless a host has
// that address.
func TestBroadcastsOfOtherNetworks(t *testing.T) {
	inLab(t, Config{}, func(l *lab) {
		a, b, c, s := l.host("a", "192.0.2.1/28"), l.host("b", "192.0.2.2/28"), l.host("c", "198.51.100.1/32"), must(t)(l.Switch("s"))
		for _, n := range []*Node{a, b, c} {
			l.join(Path{Delay: time.Millisecond}, n, s)
		}
		l.write(a, udp("192.0.2.1:1", "192.0.2.15:2"))
		l.want("a broadcast", "b gets udp 192.0.2.1:1 > 192.0.2.15:2 len 10 ttl 64", "c gets udp 192.0.2.1:1 > 192.0.2.15:2 len 10 ttl 64")
		l.write(a, udp("192.0.2.1:1", "198.51.100.1:2"))
		l.want("the only address of a network", "c gets udp 192.0.2.1:1 > 198.51.100.1:2 len 10 ttl 64")
		l.join(Path{Delay: time.Millisecond}, l.host("d", "192.0.2.15/24"), s)
		l.write(a, udp("192.0.2.1:1", "192.0.2.15:2"))
		l.want("the address of a host", "d gets udp 192.0.2.1:1 > 192.0.2.15:2 len 10 ttl 64")
	})
}
