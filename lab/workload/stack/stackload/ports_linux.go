package stackload

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ports are the local ports of clients. The endpoint that closes first, here the client, keeps its
// port in TIME-WAIT for a minute (RFC 9293, section 3.6).
type ports struct {
	low, high int
	reused    bool // ports in TIME-WAIT are reused for connections to the stack
	delayMS   int  // ms in TIME-WAIT before that
}

// portsHere reads the settings of this network namespace. A setting that the kernel does not have
// has the value of older kernels.
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

// setting reads a setting of the namespace; "" if it does not exist.
func setting(name string) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// note returns a note if the ports can have limited the given rate of connections, or "". The
// kernel first searches half of the range (the odd or the even ports), and then, slowly, the other
// half.
func (p ports) note(rate float64) string {
	n := p.high - p.low + 1
	if !p.reused {
		return fmt.Sprintf("ports in TIME-WAIT are not reused (net.ipv4.tcp_tw_reuse): after %d connections within a minute the kernel's search for a free port "+
			"dominates the time, without an error; set it to 1 in the generator's namespace", n/2)
	}
	if most := float64(n) / 2 / (float64(p.delayMS) / 1000); rate > 0.9*most {
		return fmt.Sprintf("%d ports, each reused after %d ms, allow about %.0f connections per second: widen net.ipv4.ip_local_port_range, "+
			"or lower net.ipv4.tcp_tw_reuse_delay if the kernel has it", n, p.delayMS, most)
	}
	return ""
}
