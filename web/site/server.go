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

// Server is how a site is served: the block server. What is empty has a good default.
type Server struct {
	Listen string `hcl:"listen,optional"` // HOST:PORT; empty: the command decides
	Admin  string `hcl:"admin,optional"`  // HOST:PORT of the admin page; empty: none
	Run    string `hcl:"run,optional"`    // chain or network; empty: chain

	ReadHeaderTimeout string `hcl:"read_header_timeout,optional"` // such as "10s"
	IdleTimeout       string `hcl:"idle_timeout,optional"`        // such as "2m"
	// how long a stop waits for what is under way
	DrainTimeout   string `hcl:"drain_timeout,optional"`
	MaxConnections int    `hcl:"max_connections,optional"`
	MaxHeaderBytes int    `hcl:"max_header_bytes,optional"`

	// AdminUsers is a file of those who may see the admin page, as for authenticate; needed for an
	// address that is not loopback.
	AdminUsers string `hcl:"admin_users,optional"`
	// Of these, so many for one client's address; 0: an eighth.
	MaxConnectionsPerClient int `hcl:"max_connections_per_client,optional"`
	// Trusted are the fronts, such as load balancers, that say in X-Forwarded-For and
	// X-Forwarded-Proto where requests came from.
	Trusted []string `hcl:"trusted,optional"`

	TLS *TLS `hcl:"tls,block"`

	at hcl.Range
}

// TLS is the block tls of a server: a certificate from files, or from a certificate authority by
// ACME (RFC 8555).
type TLS struct {
	Cert   string   `hcl:"cert,optional"`   // a file of PEM, the server's certificate first
	Key    string   `hcl:"key,optional"`    // a file of PEM
	ACME   []string `hcl:"acme,optional"`   // the names to get certificates for, in place of files
	Agreed bool     `hcl:"agreed,optional"` // to the authority's terms; ACME needs it
	Email  string   `hcl:"email,optional"`
	Store  string   `hcl:"store,optional"` // the folder to keep them in
	CA     string   `hcl:"ca,optional"`    // the directory's URL; empty: Let's Encrypt
	HTTP3  bool     `hcl:"http3,optional"` // on the same port, by UDP
}

// Way is how the composition runs.
func (s Server) Way() flow.Way {
	if s.Run == "" {
		return flow.Chain
	}
	return flow.Way(s.Run)
}

// same says whether two servers are served alike; the way of running may change while they are.
func (s Server) same(other Server) bool {
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
		return fmt.Errorf("max_connections, max_connections_per_client and max_header_bytes are 0, which means the default, or more")
	}
	if _, err := client.ReadFronts(s.Trusted); err != nil {
		return err
	}
	if host, _, err := net.SplitHostPort(s.Admin); err == nil && s.AdminUsers == "" && !loopback(host) {
		return fmt.Errorf("admin is %q, which can be reached from elsewhere, and its page, profiles and command line would be without a login: "+
			"write \"127.0.0.1:PORT\", or name a file of users in admin_users, as weir serve password makes it", s.Admin)
	}
	return s.TLS.validate()
}

// loopback reports whether an address is one of this machine alone, or a name that may be: that
// shows when it is listened on.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host != "" && (ip == nil || ip.IsLoopback())
}

func (t *TLS) validate() error {
	if t == nil {
		return nil
	}
	files := t.Cert != "" && t.Key != ""
	if files == (len(t.ACME) > 0) || (t.Cert == "") != (t.Key == "") {
		return fmt.Errorf("tls has either cert and key, which are files, or acme, which is a list of names")
	}
	return nil
}

// Duration reads a duration of a site file; empty is 0.
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
