package tcpip

import (
	"io"
	"log"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/mdns"
	"github.com/vishvananda/netlink"
	"golang.org/x/net/dns/dnsmessage"
)

// The groups of multicast DNS (RFC 6762, section 3), and a service.
var (
	mdnsGroups   = []netip.Addr{netip.MustParseAddr("224.0.0.251"), netip.MustParseAddr("ff02::fb")}
	mdnsService  = dnsmessage.MustNewName("_weir._tcp.local.")
	mdnsInstance = dnsmessage.MustNewName("test._weir._tcp.local.")
)

const (
	mdnsPort    = 5353
	servicePort = 8080
)

// routeGroups gives the kernel a route to groups of IPv4, which the library needs.
func (p *peer) routeGroups(t *testing.T) {
	t.Helper()
	p.onDevice(t, func(l netlink.Link) error {
		return netlink.RouteAdd(&netlink.Route{LinkIndex: l.Attrs().Index, Scope: netlink.SCOPE_LINK, Dst: &net.IPNet{IP: net.IPv4(224, 0, 0, 0).To4(), Mask: net.CIDRMask(4, 32)}})
	})
}

// A library on the kernel's side finds a service that a program on the stack announces.
func TestKernelMDNSClientFindsAServiceOfTheStack(t *testing.T) {
	p := kernel(t, false)
	p.routeGroups(t)
	for _, group := range mdnsGroups {
		u := listenGroup(t, p.stack, "", group, mdnsPort)
		go respond(u, group) // until the socket is closed
		// the library -> the test: services; capacity 4, and more are dropped; never closed
		found := make(chan *mdns.ServiceEntry, 4)
		// a query of the library always lasts its timeout
		until(t, "the library finds a service by "+group.String(), func() bool { return len(found) > 0 || p.query(t, group, found) })
		e := <-found
		if e.Name != mdnsInstance.String() || e.Port != servicePort || e.AddrV4.String() != stackHost || e.Info != "hello" {
			t.Errorf("%v: got the service %+v, want %v at %s, port %d", group, e, mdnsInstance, stackHost, servicePort)
		}
		u.Close()
	}
}

// query has the library on the kernel's side query for the service by a group. It returns false.
func (p *peer) query(t *testing.T, group netip.Addr, found chan<- *mdns.ServiceEntry) bool {
	if err := p.inside(func() error {
		i, err := net.InterfaceByName(p.device)
		if err != nil {
			return err
		}
		return mdns.Query(&mdns.QueryParam{Service: "_weir._tcp", Domain: "local", Timeout: 200 * time.Millisecond, Interface: i, Entries: found,
			DisableIPv4: !group.Is4(), DisableIPv6: group.Is4(), Logger: log.New(io.Discard, "", 0)})
	}); err != nil {
		t.Fatal(err)
	}
	return false
}

// respond answers queries for the service by multicast, until the socket is closed.
func respond(u *UDPConn, group netip.Addr) {
	for p := make([]byte, 1500); ; {
		n, err := u.Read(p)
		if err != nil {
			return
		}
		var q dnsmessage.Message
		if q.Unpack(p[:n]) != nil || q.Response || len(q.Questions) != 1 || q.Questions[0].Name != mdnsService {
			continue
		}
		u.WriteTo(mdnsAnswer(), groupAddr(group, mdnsPort)) //nolint:errcheck // the client sees what is missing
	}
}

// mdnsAnswer returns the records of the service.
func mdnsAnswer() []byte {
	host := dnsmessage.MustNewName("stack.local.")
	h := func(name dnsmessage.Name) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 120}
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{Response: true, Authoritative: true}, Answers: []dnsmessage.Resource{
		{Header: h(mdnsService), Body: &dnsmessage.PTRResource{PTR: mdnsInstance}},
		{Header: h(mdnsInstance), Body: &dnsmessage.SRVResource{Port: servicePort, Target: host}},
		{Header: h(mdnsInstance), Body: &dnsmessage.TXTResource{TXT: []string{"hello"}}},
		{Header: h(host), Body: &dnsmessage.AResource{A: netip.MustParseAddr(stackHost).As4()}},
	}}
	b, err := m.Pack()
	if err != nil {
		panic(err) // it is the same each time
	}
	return b
}

// A program on the stack finds a service that a library on the kernel's side announces.
func TestKernelMDNSServiceIsFoundByTheStack(t *testing.T) {
	p := kernel(t, false)
	p.routeGroups(t)
	var server *mdns.Server
	if err := p.inside(func() error {
		i, err := net.InterfaceByName(p.device)
		if err != nil {
			return err
		}
		zone, err := mdns.NewMDNSService("test", "_weir._tcp", "local.", "kernel.local.", servicePort, []net.IP{net.ParseIP(kernelHost)}, []string{"hello"})
		if err != nil {
			return err
		}
		server, err = mdns.NewServer(&mdns.Config{Zone: zone, Iface: i, Logger: log.New(io.Discard, "", 0)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown() //nolint:errcheck // the test has ended
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: mdnsService, Type: dnsmessage.TypePTR, Class: dnsmessage.ClassINET}}}
	query, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range mdnsGroups {
		u := listenGroup(t, p.stack, "", group, mdnsPort)
		if _, err := u.WriteTo(query, groupAddr(group, mdnsPort)); err != nil {
			t.Fatal(err)
		}
		u.SetReadDeadline(time.Now().Add(waitLimit))
		b := make([]byte, 1500)
		n, err := u.Read(b)
		var answer dnsmessage.Message
		if err == nil {
			err = answer.Unpack(b[:n])
		}
		is := func(r dnsmessage.Resource) bool {
			srv, ok := r.Body.(*dnsmessage.SRVResource)
			return ok && srv.Port == servicePort && srv.Target.String() == "kernel.local."
		}
		if err != nil || !slices.ContainsFunc(slices.Concat(answer.Answers, answer.Additionals), is) {
			t.Errorf("%v: got the answer %v, error %v; want the service at kernel.local., port %d", group, answer, err, servicePort)
		}
		u.Close()
	}
}
