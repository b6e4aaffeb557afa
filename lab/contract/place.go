package contract

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"weir/internal/freeport"
	"weir/lab/internal/network"
	"weir/lab/subject"
)

// networkCount counts networks, because each needs a unique name.
var networkCount atomic.Int64

// newNetwork creates the network of a subject that has its own.
func newNetwork(s *subject.Subject) (*network.Network, error) {
	return network.New(s.Network, fmt.Sprintf("wc%d-%d", os.Getpid(), networkCount.Add(1)))
}

// unavailable returns why a subject cannot listen at host on this machine; empty if it can.
func unavailable(s *subject.Subject, host string) string {
	if s.Network != "" {
		n, err := newNetwork(s)
		if err != nil {
			return fmt.Sprintf("this machine cannot create a network for it, which needs Linux, root and /dev/net/tun: %v", err)
		}
		if err := n.Close(); err != nil {
			return err.Error()
		}
		return ""
	}
	if _, err := freeport.Choose(host); err != nil {
		return fmt.Sprintf("this machine has no %s: %v", host, err)
	}
	// a server that is configured by its port only uses IPv4
	command := strings.Join(append(slices.Collect(maps.Values(s.Env)), s.RunCmd...), " ")
	if strings.Contains(host, ":") && !strings.Contains(command, "{addr}") && !strings.Contains(command, "{host}") {
		return "its run command has neither {addr} nor {host} for " + host
	}
	return ""
}

// place finds a port for the server, or creates the network of a subject that has its own, where
// it listens on the given port.
func (b *Bench) place(port int) {
	var err error
	if b.Subject.Network == "" {
		b.Params.Port, err = freeport.Choose(b.Params.Host)
		Must(err)
		return
	}
	b.Network, err = newNetwork(b.Subject)
	Must(err)
	b.Cleanup(b.Network.Close)
	b.Params.Host, b.Params.Port, b.Params.Tap, b.Params.Net = b.Network.Host(), port, b.Network.Tap, b.Network.Addr.String()
}
