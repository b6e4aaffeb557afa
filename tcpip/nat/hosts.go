package nat

import (
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// hostTTL is how long hosts may keep an answer of Config.Hosts, in seconds.
const hostTTL = 60

// AnswerHosts answers a DNS query for a name of Config.Hosts; nil: a server must answer it. A name
// that has no address of the type that is asked for has an empty answer. Without servers, there are
// no other names.
func (c *Config) AnswerHosts(query []byte) []byte {
	if len(c.Hosts) == 0 {
		return nil
	}
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response || h.OpCode != 0 {
		return nil
	}
	q, err := p.Question()
	if err != nil || q.Class != dnsmessage.ClassINET {
		return nil
	}
	addrs, ok := c.Hosts[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]
	if !ok && len(c.DNS) > 0 {
		return nil
	}
	m := dnsmessage.Message{Questions: []dnsmessage.Question{q}, Answers: hostRecords(q, addrs)}
	m.Header = dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}

// hostRecords returns the addresses of the type that a question asks for.
func hostRecords(q dnsmessage.Question, addrs []netip.Addr) (all []dnsmessage.Resource) {
	for _, a := range addrs {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: hostTTL}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			all = append(all, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			all = append(all, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return all
}
