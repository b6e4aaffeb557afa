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
func dhcpServer(t *testing.T) (ask func(mac byte, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) (*dhcpv4.DHCPv4, string)) {
	t.Helper()
	c, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c.Link, _ = link.Pair(link.PairConfig{})
	n := &NAT{config: c}
	now := time.Unix(1e9, 0)
	return func(mac byte, kind dhcpv4.MessageType, more ...dhcpv4.Modifier) (*dhcpv4.DHCPv4, string) {
		m, err := dhcpv4.New(append(more, dhcpv4.WithMessageType(kind), dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, 0, mac}))...)
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
		if offer, _ := ask(byte(mac+1), dhcpv4.MessageTypeDiscover); offer.YourIPAddr.String() != want {
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

func TestAddressesAreReadOrZero(t *testing.T) {
	if got, want := addrOf(net.ParseIP("10.0.2.7")), netip.MustParseAddr("10.0.2.7"); got != want || addrOf(nil).IsValid() {
		t.Errorf("got %v and %v, want %v and none", got, addrOf(nil), want)
	}
}
