package tcpip

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"weir/tcpip/link"
)

// kernelGroup is a socket of the kernel that has joined a group on its side of the link, and sends
// to the group there.
func (p *peer) kernelGroup(t *testing.T, group netip.Addr, port uint16) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	if err := p.inside(func() error {
		i, err := net.InterfaceByName(p.device)
		if err != nil {
			return err
		}
		if c, err = net.ListenMulticastUDP("udp", i, groupAddr(group, port)); err != nil {
			return err
		}
		if group.Is4() {
			return ipv4.NewPacketConn(c).SetMulticastInterface(i)
		}
		return ipv6.NewPacketConn(c).SetMulticastInterface(i)
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Datagrams for a group pass in both directions, by TAP and by TUN devices, of each concurrency
// model, and in fragments too.
func TestKernelExchangesDatagramsForGroups(t *testing.T) {
	for name, p := range map[string]*peer{
		"offloads": kernel(t, false), "plain": kernel(t, true), "network": kernel(t, false, func(c *Config) { c.Run = RunNetwork }), "tun": kernelByTUN(t, false),
	} {
		for _, group := range []netip.Addr{group4, group6, netip.MustParseAddr("224.0.0.251"), netip.MustParseAddr("ff02::fb")} {
			t.Run(name+" "+group.String(), func(t *testing.T) { testKernelGroup(t, p, group) })
		}
	}
}

func testKernelGroup(t *testing.T, p *peer, group netip.Addr) {
	theirs := p.kernelGroup(t, group, 5000)
	ours := listenGroup(t, p.stack, "", group, 5000)
	got := make([]byte, 1<<16)
	for _, size := range []int{1, 1452, 9000, 60000} {
		sent := strings.Repeat("x", size)
		for _, c := range []net.PacketConn{theirs, ours} {
			c.SetDeadline(time.Now().Add(waitLimit))
		}
		if _, err := ours.WriteTo([]byte(sent), groupAddr(group, 5000)); err != nil {
			t.Fatal(err)
		}
		n, from, err := theirs.ReadFromUDPAddrPort(got)
		if err != nil || n != size || from.Addr().Unmap() == (netip.Addr{}) {
			t.Fatalf("%d bytes to the kernel: got %d from %v, error %v", size, n, from, err)
		}
		to := groupAddr(group, 5000)
		if group.Is6() {
			to.Zone = p.device
		}
		if _, err := theirs.WriteTo([]byte(sent), to); err != nil {
			t.Fatal(err)
		}
		n, _, dst, err := ours.ReadMsg(got)
		if err != nil || n != size || dst.WithZone("") != group {
			t.Fatalf("%d bytes to the stack: got %d to %v, error %v; want them to %v", size, n, dst, err, group)
		}
	}
}

// bridge is a switch of the kernel that snoops: it sends what is for a group to the ports only that
// have reported it. Two stacks and the kernel are on it.
type bridge struct {
	peer
	first, second *Stack
}

// command runs a command in the namespace of the kernel.
func (b *bridge) command(t *testing.T, text string) string {
	t.Helper()
	out, err := b.run(t, text)
	if err != nil {
		t.Fatalf("%s: %v: %s", text, err, out)
	}
	return out
}

func (b *bridge) run(t *testing.T, text string) (string, error) {
	out, err := exec.CommandContext(t.Context(), "ip", append([]string{"netns", "exec", b.space}, strings.Fields(text)...)...).CombinedOutput()
	return string(out), err
}

// newBridge makes a bridge that is a querier of these versions of IGMP and MLD.
func newBridge(t *testing.T, igmp, mld int) *bridge {
	t.Helper()
	for _, tool := range []string{"ip", "bridge"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("a switch that snoops needs the command %s of iproute2", tool)
		}
	}
	b := &bridge{peer: peer{space: newSpace(t), device: "br0"}}
	first := device(t, link.SetupConfig{Namespace: b.space, Tap: "tap0"}, false)
	if out, err := b.run(t, fmt.Sprintf("ip link add br0 type bridge mcast_snooping 1 mcast_igmp_version %d mcast_mld_version %d mcast_query_interval 100 mcast_startup_query_interval 100 mcast_query_response_interval 50", igmp, mld)); err != nil {
		t.Skipf("a switch that snoops needs a bridge of the kernel: %v: %s", err, out)
	}
	b.command(t, "ip tuntap add tap1 mode tap")
	for _, port := range []string{"tap0", "tap1"} {
		b.command(t, "ip link set "+port+" master br0 up")
	}
	b.command(t, "ip addr add "+kernelHost+"/24 dev br0")
	b.command(t, "ip link set br0 up")
	b.command(t, "ip addr add fe80::1/64 dev br0 nodad")
	b.command(t, "ip link set br0 type bridge mcast_querier 1")
	second, err := link.OpenTap(link.TapConfig{Name: "tap1", Namespace: b.space})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	b.first = hostOn(t, first, stackHost+"/24", func(c *Config) { c.Addrs = append(c.Addrs, netip.MustParsePrefix(stackHost6+"/64")) })
	b.second = hostOn(t, second, "10.77.0.3/24", func(c *Config) { c.Addrs = append(c.Addrs, netip.MustParsePrefix("fd77::3/64")) })
	return b
}

// groups returns the groups that the bridge has learned of a port.
func (b *bridge) groups(t *testing.T, port string) (all []string) {
	for line := range strings.Lines(b.command(t, "bridge mdb show dev br0")) {
		if f := strings.Fields(line); strings.Contains(line, "port "+port+" ") {
			for n := range f {
				if f[n] == "grp" && n+1 < len(f) {
					all = append(all, f[n+1])
				}
			}
		}
	}
	return all
}

// A switch that snoops learns the groups from reports and answers, of all versions, and forwards
// solicitations for solicited-node groups (RFC 4541).
func TestKernelBridgeLearnsGroups(t *testing.T) {
	for _, v := range []struct{ igmp, mld int }{{3, 2}, {2, 1}} {
		t.Run(fmt.Sprintf("IGMPv%d, MLDv%d", v.igmp, v.mld), func(t *testing.T) {
			b := newBridge(t, v.igmp, v.mld)
			knows := func(port, group string) func() bool {
				return func() bool { return strings.Contains(strings.Join(b.groups(t, port), " "), group) }
			}
			until(t, "the bridge knows a solicited-node group of the first stack", knows("tap0", "ff02::1:ff00:2"))
			until(t, "the bridge knows a solicited-node group of the second stack", knows("tap1", "ff02::1:ff00:3"))
			if _, err := b.first.Ping(t.Context(), netip.MustParseAddr("fd77::3"), 8); err != nil {
				t.Errorf("pinging another host on the switch: %v", err)
			}
			for _, group := range []netip.Addr{group4, group6} {
				u := listenGroup(t, b.second, "", group, 5000)
				until(t, "the bridge knows the group", knows("tap1", group.String()))
				sendToGroup(t, sender(t, b.first), "hello", group, 5000)
				u.SetReadDeadline(time.Now().Add(waitLimit))
				if n, err := u.Read(make([]byte, 10)); n != 5 || err != nil {
					t.Errorf("a datagram for %v by the switch: got %d bytes, %v", group, n, err)
				}
				if knows("tap0", group.String())() {
					t.Errorf("the bridge knows the group %v of the host that sends, want it of the member only", group)
				}
				u.Close()
				until(t, "the bridge has forgotten the group", func() bool { return !knows("tap1", group.String())() })
			}
		})
	}
}
