package nat

import (
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestHostsAreAnswered: the gateway has addresses for names of the configuration. Others are for
// the servers, if there are any.
func TestHostsAreAnswered(t *testing.T) {
	hosts := map[string][]netip.Addr{"db.example": {netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}}
	servers := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53")}
	for _, c := range []struct {
		name    string
		kind    dnsmessage.Type
		servers []netip.AddrPort
		want    string
	}{
		{"db.example.", dnsmessage.TypeA, servers, "RCodeSuccess [192.0.2.7]"},
		{"DB.example.", dnsmessage.TypeAAAA, servers, "RCodeSuccess [2001:db8::7]"},
		{"db.example.", dnsmessage.TypeMX, servers, "RCodeSuccess []"},
		{"other.example.", dnsmessage.TypeA, servers, "none"},
		{"other.example.", dnsmessage.TypeA, nil, "RCodeNameError []"},
	} {
		config := Config{Hosts: hosts, DNS: c.servers}
		q := dnsmessage.Message{Header: dnsmessage.Header{ID: 9, RecursionDesired: true}}
		q.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName(c.name), Type: c.kind, Class: dnsmessage.ClassINET}}
		query, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if got := answerText(t, config.AnswerHosts(query)); got != c.want {
			t.Errorf("%s %v with %d servers: got %s, want %s", c.name, c.kind, len(c.servers), got, c.want)
		}
	}
	for _, query := range [][]byte{nil, {1, 2, 3}, make([]byte, 12)} {
		config := Config{Hosts: hosts}
		if answer := config.AnswerHosts(query); answer != nil {
			t.Errorf("got the answer %x to %x, want none", answer, query)
		}
	}
}

func answerText(t *testing.T, answer []byte) string {
	t.Helper()
	if answer == nil {
		return "none"
	}
	var m dnsmessage.Message
	if err := m.Unpack(answer); err != nil || m.ID != 9 || !m.Response {
		t.Fatalf("got the answer %+v and %v, want one to query 9", m, err)
	}
	addrs := []netip.Addr{}
	for _, r := range m.Answers {
		switch b := r.Body.(type) {
		case *dnsmessage.AResource:
			addrs = append(addrs, netip.AddrFrom4(b.A))
		case *dnsmessage.AAAAResource:
			addrs = append(addrs, netip.AddrFrom16(b.AAAA))
		}
	}
	return fmt.Sprint(m.RCode, " ", addrs)
}
