package dhcp

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
)

// overloaded moves options of a message to its file and sname fields, and says so by option 52.
func overloaded(message []byte, value byte, file, sname []byte) []byte {
	b := bytes.Clone(message)
	end := bytes.LastIndexByte(b, 255)
	b = append(b[:end:end], 52, 1, value, 255)
	copy(b[108:236], file)
	copy(b[44:108], sname)
	return b
}

// "If option overload is used, the client interprets the specified additional fields after it
// concludes interpretation of the standard option fields" (RFC 2132, section 9.3). The value of an
// option that is split is that of its parts, of options, file and sname in that order (RFC 3396,
// sections 5 and 7).
func TestOptionsAreReadFromOverloadedFields(t *testing.T) {
	file, sname := []byte{6, 2, 10, 0, 255}, []byte{6, 4, 0, 53, 10, 0, 6, 2, 0, 54, 255}
	for _, c := range []struct {
		name    string
		message func(b []byte) []byte
		want    string // DNS servers; "malformed": the message is refused
	}{
		{"both fields", func(b []byte) []byte { return overloaded(b, 3, file, sname) }, "[10.0.0.53 10.0.0.54]"},
		{"file", func(b []byte) []byte { return overloaded(b, 1, []byte{6, 4, 10, 0, 0, 53, 0, 255}, sname) }, "[10.0.0.53]"},
		{"sname", func(b []byte) []byte { return overloaded(b, 2, file, []byte{6, 4, 10, 0, 0, 54, 255}) }, "[10.0.0.54]"},
		{"no option 52", func(b []byte) []byte { b = bytes.Clone(b); copy(b[108:], file); return b }, "[]"},
		{"another value", func(b []byte) []byte { return overloaded(b, 4, file, sname) }, "[]"},
		{"an option that is longer than the field", func(b []byte) []byte { return overloaded(b, 2, nil, []byte{6, 64}) }, "malformed"},
	} {
		s := newScript()
		s.do("start")
		s.do("tick")
		s.receive(c.message(s.reply(dhcpv4.MessageTypeOffer)), s.now, s)
		got := fmt.Sprint(s.machine.lease.DNS)
		if s.stats.Malformed > 0 {
			got = "malformed"
		}
		if got != c.want {
			t.Errorf("%s: got the servers %s, want %s", c.name, got, c.want)
		}
	}
}

// Long options come as several (RFC 3396).
func TestALongOptionIsReadFromItsParts(t *testing.T) {
	var all []string
	for n := range 12 {
		all = append(all, fmt.Sprintf("%s%d.example.org", strings.Repeat("x", 30), n))
	}
	var option []byte
	for _, name := range all {
		for label := range strings.SplitSeq(name, ".") {
			option = append(append(option, byte(len(label))), label...)
		}
		option = append(option, 0)
	}
	if l, err := leaseOf(t, dhcpv4.WithGeneric(dhcpv4.OptionDNSDomainSearchList, option)); err != nil || strings.Join(l.Search, " ") != strings.Join(all, " ") {
		t.Errorf("got %q of %d bytes (%v), want %q", l.Search, len(option), err, all)
	}
}

// manyPointers is a search list of many names, each of which refers to the same long one.
func manyPointers(size int) []byte {
	b := bytes.Repeat([]byte{1, 'a'}, size/4)
	b = append(b, 0)
	for len(b) < size-1 {
		b = append(b, 0xc0, 0)
	}
	return b
}

// A message of one packet, and one of the largest size, take work that does not grow with what its
// search list refers to: names are limited.
func TestSearchListsTakeBoundedWork(t *testing.T) {
	const most = 2000 // allocations
	for _, size := range []int{1200, 4000} {
		s := newScript()
		s.do("start")
		s.do("tick")
		offer := s.reply(dhcpv4.MessageTypeOffer, dhcpv4.WithGeneric(dhcpv4.OptionDNSDomainSearchList, manyPointers(size)))
		if got := testing.AllocsPerRun(1, func() {
			d, err := parseMessage(offer)
			if err == nil {
				_, err = parseLease(d, epoch, epoch)
			}
			if err != nil {
				t.Error(err)
			}
		}); got > most {
			t.Errorf("an offer with a search list of %d bytes: got %v allocations, want %d at most", size, got, most)
		}
		m := newInfoMachine()
		m.setWanted(true, epoch)
		reply := reply6(m.tick(m.at), func(r *dhcpv6.Message) {
			r.Options.Options = append(r.Options.Options, &dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionDomainSearchList, OptionData: manyPointers(size)})
		})
		if got := testing.AllocsPerRun(1, func() { m.receive(reply, epoch) }); got > most {
			t.Errorf("a reply with a search list of %d bytes: got %v allocations, want %d at most", size, got, most)
		}
	}
}

func TestSearchListsAreRead(t *testing.T) {
	long := strings.Repeat("\x3f"+strings.Repeat("a", 63), 4) + "\x00"
	for _, c := range []struct{ name, list, want string }{
		{"names", "\x01a\x02bc\x00\x01d\x00", "a.bc d"},
		{"a pointer (RFC 1035, section 4.1.4)", "\x01a\x02bc\x00\x01d\xc0\x02", "a.bc d.bc"},
		{"a pointer to itself", "\x01a\x00\x01b\xc0\x05", "a"},
		{"a pointer forwards", "\x01a\x00\xc0\x06\x01b\x00", "a"},
		{"a pointer beyond the end", "\x01a\x00\xc0\xff", "a"},
		{"a pointer that is cut", "\x01a\x00\xc0", "a"},
		{"a label that is cut", "\x01a\x00\x05b", "a"},
		{"a name without an end", "\x01a\x00\x01b", "a"},
		{"a name of more than 255 bytes", "\x01a\x00" + long, "a"},
		{"a reserved kind of label", "\x01a\x00\x41b\x00", "a"},
		{"characters that are not of a name", "\x01\n\x00\x01a\x00", "a"},
		{"nothing", "", ""},
	} {
		if got := strings.Join(searchList([]byte(c.list)), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := searchList(bytes.Repeat([]byte{1, 'a', 0}, 100)); len(got) != maxDomains {
		t.Errorf("got %d names of 100, want %d", len(got), maxDomains)
	}
}
