package dhcp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"weir/wire"
)

var (
	testMAC   = wire.MAC{2, 0, 0, 0, 0, 1}
	serverIP  = net.IPv4(10, 0, 0, 1)
	epoch     = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	leaseTime = time.Hour
)

// script is a machine, a clock and what the machine has done.
type script struct {
	machine
	now  time.Time
	sent *dhcpv4.DHCPv4 // the last message
	log  []string
}

func newScript() *script {
	s := &script{now: epoch}
	s.cfg = machineConfig{mac: testMAC, clientID: append([]byte{1}, testMAC[:]...), hostName: "host", mtu: 1500, rand: rand.New(rand.NewPCG(1, 2))}
	return s
}

func (s *script) send(m *dhcpv4.DHCPv4, to netip.Addr) {
	s.sent = m
	s.log = append(s.log, fmt.Sprintf("%v to %v", m.MessageType(), to))
}
func (s *script) probe(l Lease) { s.log = append(s.log, fmt.Sprintf("probe %v", l.Addr)) }
func (s *script) use(l Lease, renewed bool) {
	s.log = append(s.log, fmt.Sprintf("use %v renewed=%t", l.Addr, renewed))
}
func (s *script) lose(_ Lease, why Reason) { s.log = append(s.log, fmt.Sprintf("lose: %v", why)) }

// reply returns an answer to the last message.
func (s *script) reply(kind dhcpv4.MessageType, change ...dhcpv4.Modifier) []byte {
	all := []dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithYourIP(net.IPv4(10, 0, 0, 9)), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(serverIP)),
		dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithLeaseTime(uint32(leaseTime.Seconds())), dhcpv4.WithRouter(serverIP)}
	d, err := dhcpv4.NewReplyFromRequest(s.sent, append(all, change...)...)
	if err != nil {
		panic(err)
	}
	return d.ToBytes()
}

// other makes an answer that of another server.
var other = dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(10, 0, 0, 66)))

// do gives the machine an input by its name.
func (s *script) do(input string) {
	answer := func(kind dhcpv4.MessageType, change ...dhcpv4.Modifier) {
		s.receive(s.reply(kind, change...), s.now, s)
	}
	wrong := func(d *dhcpv4.DHCPv4) { d.YourIPAddr = net.IPv4(10, 0, 0, 77) }
	switch input {
	case "start":
		s.start(nil, s.now, s)
	case "reboot":
		s.start(&Lease{Addr: netip.MustParsePrefix("10.0.0.9/24"), ExpiresAt: s.now.Add(time.Hour)}, s.now, s)
	case "offer":
		answer(dhcpv4.MessageTypeOffer)
	case "ack":
		answer(dhcpv4.MessageTypeAck)
	case "nak":
		answer(dhcpv4.MessageTypeNak)
	case "other offer":
		answer(dhcpv4.MessageTypeOffer, other)
	case "other ack":
		answer(dhcpv4.MessageTypeAck, other)
	case "other nak":
		answer(dhcpv4.MessageTypeNak, other)
	case "other address":
		answer(dhcpv4.MessageTypeAck, wrong)
	case "bad ack":
		answer(dhcpv4.MessageTypeAck, dhcpv4.WithLeaseTime(0))
	case "tick":
		s.now = s.at
		s.tick(s.now, s)
	case "expiry":
		s.now = s.machine.lease.ExpiresAt
		s.tick(s.now, s)
	case "free":
		s.probed(false, nil, s.now, s)
	case "taken":
		s.probed(true, errors.New("taken"), s.now, s)
	case "unknown":
		s.probed(false, errors.New("unknown"), s.now, s)
	case "lost":
		s.addrLost(s.now, s)
	case "release":
		s.stop(true, s)
	case "stop":
		s.stop(false, s)
	default:
		panic(input)
	}
}

// paths are inputs that lead to each state.
var paths = map[State]string{
	Init: "start", Selecting: "start,tick", Requesting: "start,tick,offer", Rebooting: "reboot", Probing: "start,tick,offer,ack", Bound: "start,tick,offer,ack,free",
	Renewing: "start,tick,offer,ack,free,tick", Rebinding: "start,tick,offer,ack,free,tick,tick,tick,tick,tick,tick,tick,tick", Stopped: "start,tick,offer,ack,free,stop",
}

// The transitions of RFC 2131, figure 5, and those of a conflict.
func TestTransitions(t *testing.T) {
	const all = " to 255.255.255.255"
	for _, c := range []struct {
		in    State
		input string
		to    State
		done  string // what the machine does, joined by semicolons
	}{
		{Init, "tick", Selecting, "DISCOVER" + all},
		{Init, "stop", Stopped, ""},
		{Selecting, "tick", Selecting, "DISCOVER" + all},
		{Selecting, "offer", Requesting, "REQUEST" + all},
		{Selecting, "ack", Selecting, ""},
		{Selecting, "nak", Selecting, ""},
		{Requesting, "tick", Requesting, "REQUEST" + all},
		{Requesting, "ack", Probing, "probe 10.0.0.9/24"},
		{Requesting, "nak", Init, ""},
		{Requesting, "other offer", Requesting, ""},
		{Requesting, "other ack", Requesting, ""},
		{Requesting, "other nak", Requesting, ""},
		{Requesting, "other address", Requesting, ""},
		{Requesting, "bad ack", Requesting, ""},
		{Rebooting, "tick", Rebooting, "REQUEST" + all},
		{Rebooting, "ack", Probing, "probe 10.0.0.9/24"},
		{Rebooting, "other ack", Probing, "probe 10.0.0.9/24"},
		{Rebooting, "other address", Rebooting, ""},
		{Rebooting, "nak", Init, ""},
		{Probing, "free", Bound, "use 10.0.0.9/24 renewed=false"},
		{Probing, "taken", Init, "DECLINE" + all},
		{Probing, "unknown", Init, ""},
		{Probing, "nak", Probing, ""},
		{Bound, "tick", Renewing, "REQUEST to 10.0.0.1"},
		{Bound, "nak", Bound, ""},
		{Bound, "ack", Bound, ""},
		{Bound, "lost", Init, "lose: another host uses the address;DECLINE" + all},
		{Bound, "release", Stopped, "RELEASE to 10.0.0.1;lose: the client has stopped"},
		{Bound, "stop", Stopped, "lose: the client has stopped"},
		{Renewing, "tick", Renewing, "REQUEST to 10.0.0.1"},
		{Renewing, "ack", Bound, "use 10.0.0.9/24 renewed=true"},
		{Renewing, "other ack", Renewing, ""},
		{Renewing, "other nak", Renewing, ""},
		{Renewing, "nak", Init, "lose: a server refused to renew it"},
		{Renewing, "lost", Init, "lose: another host uses the address;DECLINE" + all},
		{Rebinding, "ack", Bound, "use 10.0.0.9/24 renewed=true"},
		{Rebinding, "other ack", Bound, "use 10.0.0.9/24 renewed=true"},
		{Rebinding, "nak", Init, "lose: a server refused to renew it"},
		{Rebinding, "tick", Rebinding, "REQUEST" + all},
		{Rebinding, "expiry", Selecting, "lose: no server renewed it in time;DISCOVER" + all},
		{Rebinding, "release", Stopped, "RELEASE to 10.0.0.1;lose: the client has stopped"},
		{Stopped, "lost", Stopped, ""},
		{Stopped, "ack", Stopped, ""},
	} {
		s := newScript()
		for input := range strings.SplitSeq(paths[c.in], ",") {
			s.do(input)
		}
		if s.state != c.in {
			t.Fatalf("the path to %v leads to %v", c.in, s.state)
		}
		s.log = nil
		s.do(c.input)
		if done := strings.Join(s.log, ";"); s.state != c.to || done != c.done {
			t.Errorf("%v, %s: got %v and %q, want %v and %q", c.in, c.input, s.state, done, c.to, c.done)
		}
	}
}

// The fields of each message are those of RFC 2131, table 5, and section 4.3.6.
func TestMessagesHaveTheFieldsOfTheirState(t *testing.T) {
	for _, c := range []struct {
		in                 State
		input              string
		requested, server  string // options 50 and 54
		ciaddr             string
		broadcast, hasList bool
	}{
		{Init, "tick", "", "", "0.0.0.0", true, true},
		{Selecting, "offer", "10.0.0.9", "10.0.0.1", "0.0.0.0", true, true},
		{Rebooting, "tick", "10.0.0.9", "", "0.0.0.0", true, true},
		{Bound, "tick", "", "", "10.0.0.9", false, true},
		{Rebinding, "tick", "", "", "10.0.0.9", false, true},
		{Probing, "taken", "10.0.0.9", "10.0.0.1", "0.0.0.0", false, false},
		{Bound, "release", "", "10.0.0.1", "10.0.0.9", false, false},
	} {
		s := newScript()
		for input := range strings.SplitSeq(paths[c.in]+","+c.input, ",") {
			s.do(input)
		}
		d, err := dhcpv4.FromBytes(s.sent.ToBytes())
		if err != nil {
			t.Fatal(err)
		}
		text := func(a net.IP) string {
			if a == nil {
				return ""
			}
			return a.String()
		}
		if text(d.RequestedIPAddress()) != c.requested || text(d.ServerIdentifier()) != c.server || d.ClientIPAddr.String() != c.ciaddr || d.IsBroadcast() != c.broadcast || (d.ParameterRequestList() != nil) != c.hasList {
			t.Errorf("%v in %v: got %s", d.MessageType(), c.in, d.Summary())
		}
		if id := d.Options.Get(dhcpv4.OptionClientIdentifier); string(id) != "\x01"+string(testMAC[:]) || d.ClientHWAddr.String() != testMAC.String() {
			t.Errorf("%v: got the client identifier %x and hardware address %v", d.MessageType(), id, d.ClientHWAddr)
		}
	}
}

// "The delay before the next retransmission SHOULD be 4 seconds randomized by ... -1 to +1 ... The
// retransmission delay SHOULD be doubled with subsequent retransmissions up to a maximum of 64
// seconds" (RFC 2131, section 4.1).
func TestDiscoversBackOff(t *testing.T) {
	s := newScript()
	s.do("start")
	s.do("tick")
	for n, want := range []time.Duration{4, 8, 16, 32, 64, 64, 64} {
		before := s.now
		s.do("tick")
		if got := s.now.Sub(before); got < (want-1)*time.Second || got > (want+1)*time.Second {
			t.Errorf("retransmission %d came after %v, want %d s, 1 s more or less", n+1, got, want)
		}
	}
}

// An offer that no server acknowledges is given up after a minute or two (RFC 2131, section 3.1,
// 5).
func TestUnansweredRequestsEnd(t *testing.T) {
	for _, path := range []string{"start,tick,offer", "reboot"} {
		s := newScript()
		for input := range strings.SplitSeq(path, ",") {
			s.do(input)
		}
		for range requestTries {
			s.do("tick")
		}
		if last := s.log[len(s.log)-1]; s.state != Selecting || last != "DISCOVER to 255.255.255.255" || s.now.Sub(epoch) > 3*time.Minute {
			t.Errorf("%s: after %v: state %v, last %q, want another DISCOVER in SELECTING", path, s.now.Sub(epoch), s.state, last)
		}
	}
}

// A server that refuses every request, and addresses that are all in use, are tried at growing
// intervals: at least 10 s after a DHCPDECLINE (RFC 2131, section 3.1, 5).
func TestRefusalsAndConflictsBackOff(t *testing.T) {
	for _, c := range []struct {
		inputs      string
		first, last time.Duration // shortest delay after the first one, and after the sixth
	}{{"offer,nak", 0, 60 * time.Second}, {"offer,ack,taken", 10 * time.Second, 60 * time.Second}} {
		s := newScript()
		s.do("start")
		for n := range 6 {
			s.do("tick")
			if s.failed.IsValid() { // its first offer is ignored
				s.do("tick")
			}
			for input := range strings.SplitSeq(c.inputs, ",") {
				s.do(input)
			}
			if wait := s.at.Sub(s.now); n == 0 && wait < c.first || n == 5 && wait < c.last {
				t.Errorf("%s, time %d: the client waits %v, want %v first and %v at last", c.inputs, n+1, wait, c.first, c.last)
			}
		}
	}
}

// Requests to renew are sent after half of the time that is left, at most once a minute, and the
// lease ends at its time (RFC 2131, section 4.4.5).
func TestLeaseIsRenewedReboundAndEnds(t *testing.T) {
	s := newScript()
	for input := range strings.SplitSeq(paths[Bound], ",") {
		s.do(input)
	}
	obtained := s.machine.lease.ObtainedAt
	s.log = nil
	var times []string
	for s.state != Selecting {
		s.do("tick")
		times = append(times, s.now.Sub(obtained).Round(time.Second).String()+" "+s.state.String())
	}
	want := "30m0s RENEWING,41m15s RENEWING,46m53s RENEWING,49m41s RENEWING,51m6s RENEWING,52m6s RENEWING,52m30s REBINDING,56m15s REBINDING,58m8s REBINDING,59m8s REBINDING,1h0m0s SELECTING"
	if got := strings.Join(times, ","); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Answers for others, malformed ones and those of other exchanges are counted and change nothing.
func TestAnswersThatDoNotFitAreIgnored(t *testing.T) {
	s := newScript()
	s.do("start")
	s.do("tick")
	for name, change := range map[string]dhcpv4.Modifier{
		"transaction": func(d *dhcpv4.DHCPv4) { d.TransactionID[0]++ },
		"hardware":    func(d *dhcpv4.DHCPv4) { d.ClientHWAddr = net.HardwareAddr{2, 0, 0, 0, 0, 9} },
		"operation":   func(d *dhcpv4.DHCPv4) { d.OpCode = dhcpv4.OpcodeBootRequest },
		"identifier":  dhcpv4.WithOption(dhcpv4.OptClientIdentifier([]byte{1, 9})),
		"type":        dhcpv4.WithMessageType(dhcpv4.MessageTypeInform),
	} {
		before := s.stats.Ignored
		s.receive(s.reply(dhcpv4.MessageTypeOffer, change), s.now, s)
		if s.state != Selecting || s.stats.Ignored != before+1 {
			t.Errorf("an offer with another %s: got state %v and %d ignored, want it ignored", name, s.state, s.stats.Ignored-before)
		}
	}
	for _, b := range [][]byte{nil, {2}, make([]byte, 300), s.reply(dhcpv4.MessageTypeOffer)[:230]} {
		before := s.stats.Malformed
		if s.receive(b, s.now, s); s.stats.Malformed != before+1 {
			t.Errorf("%d bytes that are no message: not counted as malformed", len(b))
		}
	}
}

// Hosts that start together do not send together, and each exchange has a transaction of its own.
func TestStartsAndTransactionsAreRandom(t *testing.T) {
	starts, transactions := map[time.Time]bool{}, map[dhcpv4.TransactionID]bool{}
	for n := range uint64(20) {
		s := newScript()
		s.cfg.rand = rand.New(rand.NewPCG(n, n))
		s.do("start")
		starts[s.at] = true
		s.do("tick")
		transactions[s.sent.TransactionID] = true
	}
	if len(starts) < 19 || len(transactions) < 20 {
		t.Errorf("20 clients have %d times and %d transactions, want as many as clients", len(starts), len(transactions))
	}
}

// A server that offers a lease and does not acknowledge it, or refuses it, does not keep the client
// from other servers: after it has failed, another one has until the first retransmission to offer
// one, too.
func TestAServerThatFailsIsNotTheFirstChoice(t *testing.T) {
	for _, failure := range []string{"nak", "tick,tick,tick,tick,tick"} {
		s := newScript()
		for input := range strings.SplitSeq("start,tick,offer,"+failure, ",") {
			s.do(input)
		}
		if s.state == Init {
			s.do("tick")
		}
		s.do("offer")
		if s.state != Selecting {
			t.Errorf("after %s: the client is %v after another offer of the same server, want SELECTING: another server may offer, too", failure, s.state)
			continue
		}
		again := *s
		if s.do("other offer"); s.state != Requesting || s.machine.lease.Server.String() != "10.0.0.66" {
			t.Errorf("after %s: got %v with a lease of %v, want that of another server requested", failure, s.state, s.machine.lease.Server)
		}
		again.do("tick")
		if again.do("offer"); again.state != Requesting {
			t.Errorf("after %s: got %v without another server, want the lease of the only one requested", failure, again.state)
		}
	}
}
