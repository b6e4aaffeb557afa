package nat

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/tcpip/link"
)

// dhcpServer returns a gateway whose answers are asked for by the function, at a time of its own.
func dhcpServer(t *testing.T) (ask func(mac int, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) (*dhcpv4.DHCPv4, string)) {
	t.Helper()
	c, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c.Link, _ = link.Pair(link.PairConfig{})
	n := &NAT{config: c}
	now := time.Unix(1e9, 0)
	return func(mac int, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) (*dhcpv4.DHCPv4, string) {
		m, err := dhcpv4.New(append(more, dhcpv4.WithMessageType(kind), dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, byte(mac >> 8), byte(mac)}))...)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		b, to := n.answerDHCP(m.ToBytes(), n.config.gateway(true), now)
		if b == nil {
			return nil, ""
		}
		answer, err := dhcpv4.FromBytes(b)
		if err != nil {
			t.Fatal(err)
		}
		return answer, to.String()
	}
}

func wanted(a string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(a)))
}

func using(a string) dhcpv4.Modifier { return dhcpv4.WithClientIP(net.ParseIP(a)) }

// A host that renews listens at its address only.
func TestAnswersGoToTheAddressThatAHostUses(t *testing.T) {
	ask := dhcpServer(t)
	const all = "255.255.255.255"
	for _, c := range []struct {
		name string
		kind dhcpv4.MessageType
		with dhcpv4.Modifier
		want dhcpv4.MessageType
		to   string
	}{
		{"INIT", dhcpv4.MessageTypeDiscover, using("0.0.0.0"), dhcpv4.MessageTypeOffer, all},
		{"SELECTING", dhcpv4.MessageTypeRequest, wanted("10.0.2.100"), dhcpv4.MessageTypeAck, all},
		{"RENEWING", dhcpv4.MessageTypeRequest, using("10.0.2.100"), dhcpv4.MessageTypeAck, "10.0.2.100"},
		{"RENEWING another address", dhcpv4.MessageTypeRequest, using("10.0.2.101"), dhcpv4.MessageTypeNak, all},
		{"an address of another network", dhcpv4.MessageTypeInform, using("192.0.2.1"), dhcpv4.MessageTypeAck, all},
	} {
		if got, to := ask(1, c.kind, c.with); got == nil || got.MessageType() != c.want || to != c.to {
			t.Errorf("%s: got %v to %s, want a message %v to %s (RFC 2131, 4.1)", c.name, got, to, c.want, c.to)
		}
	}
}

func TestAHostThatHasAnAddressGetsTheOtherParameters(t *testing.T) {
	ask := dhcpServer(t)
	got, to := ask(1, dhcpv4.MessageTypeInform, using("10.0.2.7"))
	if got == nil || to != "10.0.2.7" || got.Router()[0].String() != "10.0.2.2" {
		t.Fatalf("got %v to %s, want the router, to 10.0.2.7", got, to)
	}
	if !got.YourIPAddr.IsUnspecified() || got.Options.Has(dhcpv4.OptionIPAddressLeaseTime) {
		t.Errorf("got the address %v for %v, want no address and no lease (RFC 2131, 4.3.5)", got.YourIPAddr, got.IPAddressLeaseTime(0))
	}
	if offer, _ := ask(2, dhcpv4.MessageTypeDiscover); offer.YourIPAddr.String() != "10.0.2.100" {
		t.Errorf("then a host was offered %v, want 10.0.2.100: DHCPINFORM takes no address (RFC 2131, 4.3.5)", offer.YourIPAddr)
	}
}

func TestReleasedAddressesAreGivenAgain(t *testing.T) {
	ask := dhcpServer(t)
	ask(1, dhcpv4.MessageTypeDiscover)
	if got, _ := ask(2, dhcpv4.MessageTypeRelease, using("10.0.2.100")); got != nil {
		t.Errorf("a release: got the answer %v, want none (RFC 2131, 4.3.4)", got)
	}
	if offer, _ := ask(2, dhcpv4.MessageTypeDiscover); offer.YourIPAddr.String() != "10.0.2.101" {
		t.Errorf("after the release of another host's address: got an offer of %v, want 10.0.2.101", offer.YourIPAddr)
	}
	ask(1, dhcpv4.MessageTypeRelease, using("10.0.2.100"))
	if offer, _ := ask(3, dhcpv4.MessageTypeDiscover); offer.YourIPAddr.String() != "10.0.2.100" {
		t.Errorf("after the release: got an offer of %v, want 10.0.2.100 (RFC 2131, 4.3.4)", offer.YourIPAddr)
	}
}

func TestDeclinedAddressesAreNotGiven(t *testing.T) {
	ask := dhcpServer(t)
	ask(1, dhcpv4.MessageTypeDiscover)
	if got, _ := ask(1, dhcpv4.MessageTypeDecline, wanted("10.0.2.100")); got != nil {
		t.Errorf("a DHCPDECLINE: got the answer %v, want none", got)
	}
	for mac, want := range []string{"10.0.2.101", "10.0.2.102"} {
		if offer, _ := ask(mac+1, dhcpv4.MessageTypeDiscover); offer.YourIPAddr.String() != want {
			t.Errorf("host %d was offered %v, want %s: 10.0.2.100 is in use (RFC 2131, 4.3.3)", mac+1, offer.YourIPAddr, want)
		}
	}
}

func TestHostsMayAskForAShorterLease(t *testing.T) {
	ask := dhcpServer(t)
	for wish, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, time.Second: minLeaseTime, 48 * time.Hour: leaseTime} {
		offer, _ := ask(1, dhcpv4.MessageTypeDiscover, dhcpv4.WithLeaseTime(uint32(wish.Seconds())))
		if got := offer.IPAddressLeaseTime(0); got != want {
			t.Errorf("asked for %v: got %v, want %v (RFC 2131, 4.3.1)", wish, got, want)
		}
	}
}

// A flood of DHCPDISCOVERs from many hardware addresses takes no address from others: an offer is
// not a lease, and the host that asks for the address gets it.
func TestOffersAreNotLeases(t *testing.T) {
	ask := dhcpServer(t)
	for mac := range 1000 {
		if offer, _ := ask(mac+1, dhcpv4.MessageTypeDiscover); offer == nil {
			t.Fatalf("host %d was offered nothing, want an address: no host has a lease", mac+1)
		}
	}
	offer, _ := ask(2000, dhcpv4.MessageTypeDiscover)
	address := offer.YourIPAddr.String()
	for mac := range 1000 {
		ask(mac+3000, dhcpv4.MessageTypeDiscover) // another offer of the same address, too
	}
	if got, _ := ask(2000, dhcpv4.MessageTypeRequest, wanted(address)); got == nil || got.MessageType() != dhcpv4.MessageTypeAck {
		t.Errorf("a host asked for %s, which it was offered: got %v, want a DHCPACK", address, got)
	}
	if got, _ := ask(3999, dhcpv4.MessageTypeRequest, wanted(address)); got == nil || got.MessageType() != dhcpv4.MessageTypeNak {
		t.Errorf("another host asked for %s, which is leased: got %v, want a DHCPNAK", address, got)
	}
}

// Messages that are refused, or only ask, change no lease.
func TestOnlyRequestsChangeALease(t *testing.T) {
	ask := dhcpServer(t)
	ask(1, dhcpv4.MessageTypeDiscover)
	ask(1, dhcpv4.MessageTypeRequest, wanted("10.0.2.100"))
	second := dhcpv4.WithLeaseTime(1)
	ask(1, dhcpv4.MessageTypeDiscover, second)
	ask(1, dhcpv4.MessageTypeRequest, wanted("10.0.2.150"), second)
	for range 20 { // more than a second
		ask(1, dhcpv4.MessageTypeInform)
	}
	if offer, _ := ask(2, dhcpv4.MessageTypeDiscover); offer.YourIPAddr.String() != "10.0.2.101" {
		t.Errorf("another host was offered %v, want 10.0.2.101: the lease of 10.0.2.100 lasts a day", offer.YourIPAddr)
	}
	ask(3, dhcpv4.MessageTypeRequest, wanted("192.0.2.1"))
	for mac, want := range map[int]string{4: "10.0.2.2", 5: "10.0.2.255", 6: "10.0.2.99", 7: "10.0.2.0", 8: "192.0.2.1"} {
		if got, _ := ask(mac, dhcpv4.MessageTypeRequest, wanted(want)); got == nil || got.MessageType() != dhcpv4.MessageTypeNak {
			t.Errorf("an unknown host asked for %s: got %v, want a DHCPNAK", want, got)
		}
	}
}

// After a restart of the gateway, hosts keep their addresses.
func TestAHostKeepsItsAddressIfItIsFree(t *testing.T) {
	ask := dhcpServer(t)
	for _, c := range []struct {
		mac  int
		want dhcpv4.MessageType
	}{{2, dhcpv4.MessageTypeAck}, {3, dhcpv4.MessageTypeNak}} {
		if got, _ := ask(c.mac, dhcpv4.MessageTypeRequest, using("10.0.2.101")); got == nil || got.MessageType() != c.want {
			t.Errorf("host %d renews 10.0.2.101: got %v, want a message %v", c.mac, got, c.want)
		}
	}
}

// A host that declines all addresses takes none from others for long.
func TestDeclinedAddressesAreGivenInTheEnd(t *testing.T) {
	ask := dhcpServer(t)
	for range 300 {
		offer, _ := ask(1, dhcpv4.MessageTypeDiscover)
		if offer == nil {
			break
		}
		ask(1, dhcpv4.MessageTypeDecline, wanted(offer.YourIPAddr.String()))
	}
	if offer, _ := ask(2, dhcpv4.MessageTypeDiscover); offer == nil {
		t.Error("another host was offered nothing, want an address that was declined long ago")
	}
}

// When more than half of the addresses are given, leases are short, so that those of hosts that
// have left, or never were, end soon.
func TestLeasesAreShortWhenAddressesAreFew(t *testing.T) {
	ask := dhcpServer(t)
	given := 0
	for mac := range 1000 {
		offer, _ := ask(mac+1, dhcpv4.MessageTypeDiscover)
		if offer == nil {
			break
		}
		got, _ := ask(mac+1, dhcpv4.MessageTypeRequest, wanted(offer.YourIPAddr.String()))
		want := leaseTime
		if given++; given > 155/2 {
			want = shortLeaseTime
		}
		if d := got.IPAddressLeaseTime(0); d != want {
			t.Fatalf("lease %d of 155: got %v, want %v", given, d, want)
		}
	}
}

func TestAddressesAreReadOrZero(t *testing.T) {
	if got, want := addrOf(net.ParseIP("10.0.2.7")), netip.MustParseAddr("10.0.2.7"); got != want || addrOf(nil).IsValid() {
		t.Errorf("got %v and %v, want %v and none", got, addrOf(nil), want)
	}
}
