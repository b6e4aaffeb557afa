package stack

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ports are those that clients here can have. Who closes first keeps its port in TIME-WAIT for a
// minute, and that is the client.
type ports struct {
	low, high int
	reused    bool // those in TIME-WAIT, for connections to the stack
	delayMS   int  // after which they are
}

// portsHere reads the settings of this network namespace. What a kernel does not have is as the
// older ones did it.
func portsHere(address string) ports {
	p := ports{low: 32768, high: 60999, delayMS: 1000}
	fmt.Sscan(setting("ip_local_port_range"), &p.low, &p.high) //nolint:errcheck // the kernel's defaults then
	if ms, err := strconv.Atoi(setting("tcp_tw_reuse_delay")); err == nil {
		p.delayMS = ms
	}
	to, err := netip.ParseAddr(address)
	reuse := setting("tcp_tw_reuse")
	p.reused = reuse == "1" || reuse == "2" && err == nil && to.IsLoopback()
	return p
}

// setting is one of the namespace's, empty where there is none of that name.
func setting(name string) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// note says how the ports may have held up so many connections a second, or nothing. The kernel
// searches half of the range first, the odd or the even ones, and then, slowly, the other half.
func (p ports) note(rate float64) string {
	n := p.high - p.low + 1
	if !p.reused {
		return fmt.Sprintf("ports in TIME-WAIT are not used again (net.ipv4.tcp_tw_reuse): after %d connections within a minute the kernel searches for a free one "+
			"longer than all else takes, and nothing fails; set it to 1 in the generator's namespace", n/2)
	}
	if most := float64(n) / 2 / (float64(p.delayMS) / 1000); rate > 0.9*most {
		return fmt.Sprintf("%d ports, each used again after %d ms, are not enough for more than some %.0f connections a second: widen net.ipv4.ip_local_port_range, "+
			"or lower net.ipv4.tcp_tw_reuse_delay where the kernel has it", n, p.delayMS, most)
	}
	return ""
}
