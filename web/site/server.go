package site

import (
	"fmt"
	"net"
	"reflect"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weir/flow"
	"weir/web/internal/client"
)

// Server is a "server" block: how a site is served. Empty attributes have good defaults.
type Server struct {
	// Name is the label of the block. Empty: it has none, and its pipeline stands beside it.
	Name string

	// Listen is the address to listen on, as HOST:PORT, or :PORT for every address of the machine.
	// The flag --listen overrides it. A server with a name requires it. Empty: "127.0.0.1:8080".
	Listen string `hcl:"listen,optional"`
	// Admin is the address of the admin page, as HOST:PORT. The page shows every server of the
	// file, so one of them at most has this attribute. Empty: none.
	Admin string `hcl:"admin,optional"`
	// Run is the concurrency model of the components: "chain" calls one after the other, "network"
	// runs a goroutine for each. Empty: "chain".
	Run string `hcl:"run,optional"`

	// Engine serves HTTP/1: "http1" is this project's engine, "nethttp" is Go's. The flag --engine
	// overrides it. Empty: "http1".
	Engine string `hcl:"engine,optional"`
	// Model is the concurrency model of the connections of HTTP/1: "goroutine", "pool", "loop",
	// "coroutine", "prefork" or "process". The flag --model overrides it. All but "goroutine" need
	// the engine "http1"; weir serve models lists what runs. Empty: "goroutine".
	Model string `hcl:"model,optional"`

	// ReadHeaderTimeout limits the time for a request's header, and for a TLS handshake. Empty:
	// "10s".
	ReadHeaderTimeout string `hcl:"read_header_timeout,optional"`
	// IdleTimeout is how long a connection stays open between two requests. Empty: "2m".
	IdleTimeout string `hcl:"idle_timeout,optional"`
	// DrainTimeout is how long a graceful shutdown waits for exchanges in progress. Empty: "10s".
	DrainTimeout string `hcl:"drain_timeout,optional"`
	// MaxConnections limits the open connections. At the limit, a new connection replaces the
	// longest idle one. 0: three quarters of the file descriptor limit, at most 50,000.
	MaxConnections int `hcl:"max_connections,optional"`
	// MaxHeaderBytes limits the size of a request's header in bytes. 0: 65,536 (64 KiB).
	MaxHeaderBytes int `hcl:"max_header_bytes,optional"`

	// AdminUsers is a file of users who may see the admin page, as for authenticate. It is required
	// unless Admin is a loopback address. Empty: the page has no login.
	AdminUsers string `hcl:"admin_users,optional"`
	// MaxConnectionsPerClient limits the connections of one client's address, except loopback and
	// Trusted addresses. An IPv6 /64 counts as one address. 0: an eighth of MaxConnections, at
	// least 16.
	MaxConnectionsPerClient int `hcl:"max_connections_per_client,optional"`
	// Trusted are the addresses of proxies and load balancers whose X-Forwarded-For and
	// X-Forwarded-Proto the server believes. Empty: none.
	Trusted []string `hcl:"trusted,optional"`

	// TicketKeys is the file that keeps the keys of TLS session tickets, which the server makes and
	// renews. With it, clients resume their sessions after a restart, and at other servers with
	// the same file and names. A name that begins with a dot is not served by files. Empty: a file
	// in the store of acme or self_signed; with other certificates, the keys end with the server.
	TicketKeys string `hcl:"ticket_keys,optional"`

	TLS []TLS `hcl:"tls,block"` // the first is that of clients that request another name

	// position of the block
	at hcl.Range
}

// Way returns the concurrency model of the composition.
func (s Server) Way() flow.Way {
	if s.Run == "" {
		return flow.Chain
	}
	return flow.Way(s.Run)
}

// equalExceptRun reports whether two blocks are equal apart from Run, which a reload may change.
func (s Server) equalExceptRun(other Server) bool {
	s.at, s.Run, other.at, other.Run = hcl.Range{}, "", hcl.Range{}, ""
	return reflect.DeepEqual(s, other)
}

func (s Server) validate() error {
	if w := s.Way(); w != flow.Chain && w != flow.Network {
		return fmt.Errorf("run is %q: write %q or %q", s.Run, flow.Chain, flow.Network)
	}
	for name, address := range map[string]string{"listen": s.Listen, "admin": s.Admin} {
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			return fmt.Errorf("%s is %q: write HOST:PORT, or :PORT for every address of this machine", name, address)
		}
	}
	for name, d := range map[string]string{"read_header_timeout": s.ReadHeaderTimeout, "idle_timeout": s.IdleTimeout, "drain_timeout": s.DrainTimeout} {
		if _, err := Duration(d); err != nil {
			return fmt.Errorf("%s is %q: write a duration such as \"10s\"", name, d)
		}
	}
	if s.MaxConnections < 0 || s.MaxHeaderBytes < 0 || s.MaxConnectionsPerClient < 0 {
		return fmt.Errorf("max_connections, max_connections_per_client and max_header_bytes must not be negative; 0 means the default")
	}
	if _, err := client.ParseTrustedProxies(s.Trusted); err != nil {
		return err
	}
	if host, _, err := net.SplitHostPort(s.Admin); err == nil && s.AdminUsers == "" && !loopback(host) {
		return fmt.Errorf("admin is %q, which other machines can reach: its page, profiles and command line would need no login; "+
			"write \"127.0.0.1:PORT\", or name a file of users in admin_users (weir serve password writes one)", s.Admin)
	}
	return s.validateTLS()
}

// loopback reports whether a host is a loopback address, or a name, which may be one: that is
// checked when the server listens.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host != "" && (ip == nil || ip.IsLoopback())
}

// Duration parses a duration of a site file; empty is 0.
func Duration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative", s)
	}
	return d, err
}
