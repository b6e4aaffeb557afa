package front

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	"github.com/pires/go-proxyproto/tlvparse"

	"weir/chat"
)

// header is a header as proxies write it.
func header(t testing.TB, version byte, from string, tls bool) string {
	t.Helper()
	source := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))
	to := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 1).To4(), Port: 6667}
	if source.IP.To4() == nil {
		to.IP = net.ParseIP("2001:db8::1")
	}
	h := proxyproto.HeaderProxyFromAddrs(version, source, to)
	if tls {
		tlv, err := tlvparse.PP2SSL{Client: tlvparse.PP2_BITFIELD_CLIENT_SSL,
			TLV: []proxyproto.TLV{{Type: proxyproto.PP2_SUBTYPE_SSL_VERSION, Value: []byte("TLSv1.3")}}}.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.SetTLVs([]proxyproto.TLV{{Type: proxyproto.PP2_TYPE_AUTHORITY, Value: []byte("weir.test")}, tlv}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := h.Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// of version 2: the proxy looks whether the server lives
const local = "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"

func TestProxyHeadersAreParsed(t *testing.T) {
	for _, c := range []struct{ header, addr, why string }{
		{header: "PROXY TCP4 192.0.2.1 198.51.100.1 40000 6667\r\n", addr: "192.0.2.1"},
		{header: "PROXY TCP6 2001:db8::5 2001:db8::1 40000 6667\r\n", addr: "2001:db8::5"},
		{header: "PROXY UNKNOWN\r\n"},
		{header: "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"},
		{header: local},
		{header: header(t, 1, "192.0.2.1:40000", false), addr: "192.0.2.1"},
		{header: header(t, 2, "192.0.2.1:40000", false), addr: "192.0.2.1"},
		{header: header(t, 2, "[2001:db8::5]:40000", true), addr: "2001:db8::5"},
		{header: "NICK alice\r\n", why: "other bytes"},
		{header: "PROXY TCP4 192.0.2.1\r\n", why: "no PROXY header"},
		{header: "PROXY TCP4 192.0.2.256 198.51.100.1 40000 6667\r\n", why: "address"},
		{header: "PROXY TCP4 192.0.2.1 198.51.100.1 40000 6667\n", why: "end with"},
		{header: "PROXY " + strings.Repeat("x", 120), why: "no end"},
		{header: "\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff", why: "want at most 4096"},
		{header: "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x04abcd", why: "length"},
		{header: "\r\n\r\n\x00\r\nQUIT\n\x35\x11\x00\x04abcd", why: "version"},
	} {
		o, n, err := parseHeader([]byte(c.header + "NICK alice\r\n"))
		if c.why != "" {
			if !errors.Is(err, ErrNoHeader) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("parseHeader(%q): got error %v, want %q", c.header, err, c.why)
			}
			continue
		}
		if got := o.addr.String(); err != nil || n != len(c.header) || got != c.addr && (c.addr != "" || o.addr.IsValid()) {
			t.Errorf("parseHeader(%q): got address %s, %d bytes, error %v; want %s, %d bytes", c.header, got, n, err, c.addr, len(c.header))
		}
		if o.secure != strings.Contains(c.header, "weir.test") {
			t.Errorf("parseHeader(%q): got secure %v, want the opposite", c.header, o.secure)
		}
		for i := range len(c.header) { // it may come in parts
			if _, n, err := parseHeader([]byte(c.header[:i])); n != 0 || err != nil {
				t.Fatalf("parseHeader of the first %d bytes of %q: got %d bytes and error %v, want 0 (incomplete)", i, c.header, n, err)
			}
		}
	}
}

// A header is complete with its last byte, whatever follows. A formatted header is parsed back to
// the same values.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("PROXY TCP4 192.0.2.1 198.51.100.1 40000 6667\r\nNICK a\r\n"))
	f.Add([]byte(local))
	f.Add([]byte(header(f, 2, "[2001:db8::5]:40000", true)))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, n, err := parseHeader(b)
		if n < 0 || n > len(b) || n > maxHeader || n > 0 && err != nil {
			t.Fatalf("parseHeader of %d bytes: got a header of %d bytes and error %v, want at most %d bytes of the input, and none with an error", len(b), n, err, maxHeader)
		}
		if n == 0 {
			return
		}
		if again, m, err := parseHeader(append(bytes.Clone(b[:n]), "more"...)); again != o || m != n || err != nil {
			t.Errorf("with bytes after the header: got %v, %d bytes, error %v; want %v, %d bytes as without", again, m, err, o, n)
		}
		if _, early, err := parseHeader(b[:n-1]); early != 0 || err != nil {
			t.Errorf("without the last byte: got a header of %d bytes and error %v, want 0 (incomplete)", early, err)
		}
		if o.addr.IsValid() && o.addr.Is4() {
			text := fmt.Sprintf("PROXY TCP4 %s 192.0.2.9 1 2\r\n", o.addr)
			if again, _, err := parseHeader([]byte(text)); again.addr != o.addr || err != nil {
				t.Errorf("parseHeader(%q): got address %v and error %v, want %v", text, again.addr, err, o.addr)
			}
		}
	})
}

func TestOnlyListedProxiesAreTrusted(t *testing.T) {
	p, err := ParseProxies([]string{"10.1.2.3/8", "192.0.2.7", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{"10.255.0.1:5": true, "192.0.2.7:1": true, "192.0.2.8:1": false, "[2001:db8::9]:2": true, "[::ffff:10.0.0.1]:1": true, "[::1]:1": false} {
		if got := p.Trust(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))); got != want {
			t.Errorf("Trust(%s): got %v, want the opposite", addr, got)
		}
	}
	if p.Trust(&net.UnixAddr{Name: "/tmp/s"}) || Proxies(nil).Trust(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}) {
		t.Error("Trust of no address, or of an unlisted one: got true, want false")
	}
	if _, err := ParseProxies([]string{"localhost"}); err == nil || !strings.Contains(err.Error(), `"localhost" is not an address`) {
		t.Errorf("ParseProxies of a name: got %v, want an error", err)
	}
}

// whois returns all replies to WHOIS.
func (c *client) whois(nick string) (text string) {
	c.t.Helper()
	for c.send("WHOIS " + nick); !strings.Contains(text, " 318 "); {
		text += c.until("")
	}
	return text
}

func TestAProxyAnnouncesItsClients(t *testing.T) {
	o := setup{proxies: []string{"127.0.0.1"}, chat: chat.Options{MaxPerAddress: 3, STS: &chat.STS{Port: 6697, Duration: time.Hour}}}
	everyWay(t, o, func(t *testing.T, s *server) {
		announced := func(text string) *client {
			c := s.clear(t)
			// as it may come, and mostly does not
			for _, part := range []string{text[:len(text)/2], text[len(text)/2:]} {
				reads := s.plainServed.Snapshot().Reads
				if _, err := c.conn.Write([]byte(part)); err != nil {
					t.Fatal(err)
				}
				wait(t, "a part was read", func() bool { return s.plainServed.Snapshot().Reads > reads })
			}
			return c
		}
		alice := announced(header(t, 1, "192.0.2.1:40000", false) + "CAP LS 302\r\n")
		alice.until("sts=port=6697")
		alice.send("CAP END")
		alice.register("alice")
		bob := announced(header(t, 2, "192.0.2.1:40001", true) + "CAP LS 302\r\n")
		bob.until("sts=duration=3600")
		bob.send("CAP END")
		bob.register("bob")
		carol := s.secure(t, header(t, 2, "192.0.2.1:40002", false))
		carol.register("carol")
		for nick, c := range map[string]*client{"alice": alice, "bob": bob, "carol": carol} {
			text := c.whois(nick)
			if !strings.Contains(text, " 378 "+nick+" "+nick+" :is connecting from 192.0.2.1\r\n") {
				t.Errorf("WHOIS by %s: got %s, want the client's address", nick, text)
			}
			if secure := strings.Contains(text, " 671 "); secure != (nick != "alice") {
				t.Errorf("WHOIS of %s: got secure %v, want the opposite", nick, secure)
			}
		}
		announced(header(t, 1, "192.0.2.1:40003", false)).until("Too many connections from your address")
		announced(header(t, 1, "192.0.2.2:40003", false)).register("dave")
		announced(local).register("health")
		alice.send("QUIT")
		alice.until("ERROR")
		alice.ended()
	})
}

func TestAProxyWithoutAHeaderIsDisconnected(t *testing.T) {
	everyWay(t, setup{proxies: []string{"127.0.0.1"}}, func(t *testing.T, s *server) {
		c := s.clear(t)
		c.send("NICK alice", "USER a 0 * :A")
		c.until("ERROR :Closing link (connections from this address must start with a PROXY header)")
		c.ended()
		byTLS := talk(t, dial(t, s.tls))
		byTLS.send("NICK alice")
		byTLS.ended()
		if n := s.chat.Counts().Connections; n != 0 {
			t.Errorf("got %d connections counted by the chat, want 0", n)
		}
	})
}

func TestAHeaderHasATimeLimit(t *testing.T) {
	everyWay(t, setup{proxies: []string{"127.0.0.1"}, wait: 20 * time.Millisecond}, func(t *testing.T, s *server) {
		c := s.clear(t)
		c.conn.Write([]byte("PROXY "))
		c.until("ERROR :Closing link (no PROXY header arrived in time)")
		c.ended()
	})
}

func TestAHeaderFromAnUntrustedAddressIsRejected(t *testing.T) {
	s := start(t, setup{proxies: []string{"192.0.2.0/24"}})
	c := s.clear(t)
	c.send("NICK alice", strings.TrimSpace(header(t, 1, "203.0.113.1:1", false)), "USER u 0 * :U")
	c.until(" 221 alice")
	if text := c.whois("alice"); !strings.Contains(text, "is connecting from 127.0.0.1\r\n") {
		t.Errorf("WHOIS of a client that sends a header without being a trusted proxy: got %s, want its own address, 127.0.0.1", text)
	}
}
