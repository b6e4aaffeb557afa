package tcpip

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// conversation returns the file of a family as records: a conversation of two stacks, as the frames
// that the bench's stack received, in hex, one a line. It has handshakes in both directions, data,
// ends, datagrams, fragments, ICMP errors about its own packets, and ARP or neighbour discovery.
// WEIR_GOLDEN=write writes the files.
func conversation(t testing.TB, of *benchFamily) (all []record) {
	t.Helper()
	text, err := os.ReadFile(of.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		f, err := hex.DecodeString(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, asRecord(f))
	}
	return all
}

// The replayed conversation works: data goes both ways on both connections, and requests are
// answered.
func TestTheRecordedConversationReplays(t *testing.T) {
	for i, of := range benchFamilies {
		if os.Getenv("WEIR_GOLDEN") == "write" {
			writeConversation(t, of)
		}
		said := strings.Join(play(t, conversation(t, of)), "\n")
		reply := []string{"10.0.0.2/1 0000", "fd00::2/58 8100"}[i]
		for _, want := range []string{"0> SYN|ACK 0 ", "0> FIN|ACK 2001 ", "1> SYN 0 ", "1> ACK 1 ", "1> FIN|PSH|ACK ", of.peer.String() + "/17 0035", reply} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: the conversation lacks %q, want it in\n%s", of.name, want, said)
			}
		}
	}
}

func writeConversation(t *testing.T, of *benchFamily) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		for _, f := range overheard(t, of) {
			fmt.Fprintf(&text, "%x\n", f)
		}
		if err := os.WriteFile(of.file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// asRecord makes a frame valid wherever it is played: its sequence numbers become relative.
func asRecord(f []byte) record {
	f = bytes.Clone(f)
	r := record{op: mendEther | soon, frame: f}
	e, _ := wire.ParseEthernet(f)
	for _, of := range benchFamilies {
		if p, ok := of.parse(e.Payload()); e.Type() == of.etherType && ok && !p.fragment && !p.dst.IsMulticast() {
			r.relate(&p)
		}
	}
	return r
}

// relate has the headers of a packet repaired, and makes the numbers of a segment relative.
func (r *record) relate(p *sentPacket) {
	r.op |= mendIP | mendTransport
	if v, fault := wire.ParseTCP(p.payload); p.protocol == wire.TCPProtocol && fault == wire.OK {
		r.op |= relative
		if v.SrcPort() == 7 {
			r.op |= ofDialed
		}
		o, _ := wire.ParseTCPOptions(v.Options())
		o.TSVal, o.TSEcr = 0, 0
		copy(v[4:], make([]byte, 8))
		copy(v.Options(), o.Append(nil))
	}
}

// overheard returns the frames that a stack receives while it talks with another one.
func overheard(t *testing.T, of *benchFamily) (frames [][]byte) {
	la, ra := link.Pair(link.PairConfig{})
	lb, rb := link.Pair(link.PairConfig{})
	a := hostOn(t, la, netip.PrefixFrom(of.host, of.bits).String())
	b := hostOn(t, rb, netip.PrefixFrom(of.peer, of.bits).String())
	pass := func(from, to link.Link, note bool) { // until from is closed
		var batch [32]link.Frame
		for {
			n, err := from.Queue(0).Read(batch[:], -1)
			if err != nil {
				return
			}
			for _, f := range batch[:n] {
				if note {
					frames = append(frames, bytes.Clone(f.Bytes))
				}
				to.Queue(0).Write(&link.Parts{Head: f.Bytes})
			}
		}
	}
	go pass(ra, lb, false)
	go pass(lb, ra, true)
	talk(a, b, of)
	synctest.Wait()
	for _, c := range []io.Closer{a, b, ra, lb} {
		c.Close()
	}
	synctest.Wait()
	return frames
}

// talk has two stacks exchange something of every kind. Failures show in the frames.
func talk(a, b *Stack, of *benchFamily) {
	la, _ := a.Listen("tcp", ":80")
	lb, _ := b.Listen("tcp", ":7")
	for _, l := range []net.Listener{la, lb} {
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				io.Copy(c, c) //nolint:errcheck // failures show in the frames
				c.Close()
			}
		}()
	}
	for _, way := range []struct {
		from *Stack
		to   netip.Addr
		port uint16
	}{{b, of.host, 80}, {a, of.peer, 7}} {
		c, err := way.from.Dial("tcp", netip.AddrPortFrom(way.to, way.port).String())
		if err != nil {
			return
		}
		c.Write(make([]byte, 2000)) //nolint:errcheck // failures show in the frames
		io.ReadFull(c, make([]byte, 2000))
		c.(*Conn).CloseWrite() //nolint:errcheck // failures show in the frames
		io.ReadAll(c)          //nolint:errcheck // failures show in the frames
		c.Close()
	}
	in, _ := a.ListenPacket("udp", ":53")
	go bounce(in)
	for _, way := range []struct {
		from *Stack
		to   netip.Addr
		port uint16
	}{{b, of.host, 53}, {b, of.host, 54}, {a, of.peer, 99}} {
		c, err := way.from.Dial("udp", netip.AddrPortFrom(way.to, way.port).String())
		if err != nil {
			return
		}
		c.Write(make([]byte, 20)) //nolint:errcheck // failures show in the frames
		c.SetReadDeadline(time.Now().Add(time.Second))
		c.Read(make([]byte, 20)) //nolint:errcheck // failures show in the frames
		c.Close()
	}
	b.Dial("tcp", netip.AddrPortFrom(of.host, 81).String()) //nolint:errcheck // it is refused
	for _, size := range []int{56, 3000} {
		b.Ping(context.Background(), of.host, size) //nolint:errcheck // failures show in the frames
	}
}

// hostOn makes a stack on a link, until the test ends.
func hostOn(t testing.TB, l link.Link, addr string, change ...func(*Config)) *Stack {
	t.Helper()
	c := Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if held := s.held(); held != 0 {
			t.Errorf("a closed stack holds %d bytes of buffers, want 0", held)
		}
	})
	return s
}

// held returns the bytes used by the buffers of all connections.
func (s *Stack) held() int64 { return int64(s.cfg.Memory) - s.budget.available.Load() }

// unfinished returns the bytes of incomplete packets.
func (s *Stack) unfinished() int {
	s.fragsMu.Lock()
	defer s.fragsMu.Unlock()
	return s.fragments.HeldBytes()
}
