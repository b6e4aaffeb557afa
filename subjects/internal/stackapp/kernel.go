package stackapp

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Kernel is the kernel's own stack. At an address, the services are at their ports. Without one
// they are on loopback, at free ports, and can be dialled from inside. On Linux the congestion
// control is CUBIC, which needs root where the system does not allow it to all users.
func Kernel(at netip.Addr) Stack {
	listen := net.ListenConfig{Control: cubic}
	listen.SetMultipathTCP(false)
	k := &kernel{listen: listen, ports: map[int]string{}}
	if at.IsValid() {
		return Stack{Listen: func(port int) (net.Listener, error) {
			return listen.Listen(context.Background(), "tcp", netip.AddrPortFrom(at, uint16(port)).String())
		}}
	}
	return Stack{Listen: k.listenInside, Dial: k.dial}
}

// kernel maps services to their addresses.
type kernel struct {
	listen net.ListenConfig

	mu    sync.Mutex
	ports map[int]string // guarded by mu: the service's port to its address
}

func (k *kernel) listenInside(port int) (net.Listener, error) {
	l, err := k.listen.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ports[port] = l.Addr().String()
	return l, nil
}

func (k *kernel) dial(ctx context.Context, port int) (net.Conn, error) {
	k.mu.Lock()
	address, ok := k.ports[port]
	k.mu.Unlock()
	if !ok {
		address = "127.0.0.1:" + strconv.Itoa(port)
	}
	d := net.Dialer{Control: cubic}
	d.SetMultipathTCP(false)
	return d.DialContext(ctx, "tcp4", address)
}
