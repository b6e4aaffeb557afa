package netsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"weir/tcpip/fabric"
	"weir/tcpip/link"
	"weir/wire"
)

// failed runs a world that must fail, without a failure of t.
func failed(t *testing.T, test func(*World)) *World {
	t.Helper()
	w := newWorld(1, nil)
	w.runIn(t, test)
	if !w.Failed() {
		t.Fatal("got a world that has passed, want one that fails")
	}
	return w
}

// reported writes the report of a world to a folder of the test.
func reported(t *testing.T, w *World, o outcome) (dir string) {
	t.Helper()
	dir, err := writeReport(t.TempDir(), t.Name(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A capture has what its host has sent and received, at virtual times, with directions. The reader
// is gopacket.
func TestCapturesHaveThePacketsOfTheirHost(t *testing.T) {
	w := failed(t, retriedPost)
	dir := reported(t, w, outcome{repeatable: true})
	events, _ := w.trace.all()
	for _, host := range []string{"client", "shop"} {
		f, err := os.Open(filepath.Join(dir, host+".pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := pcapgo.NewNgReader(f, pcapgo.NgReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.node != host || e.kind == fabric.EventDropped {
				continue
			}
			b, info, options, err := r.ReadPacketDataWithOptions()
			if err != nil {
				t.Fatalf("%s: got error %v, want %s at %v", host, err, summary(e.packet), e.at)
			}
			outbound := options.Flags.Direction == pcapgo.NgEpbFlagDirectionOutbound
			if !bytes.Equal(b, e.packet) || info.Timestamp.Sub(w.began) != e.at || outbound != (e.kind == fabric.EventSent) {
				t.Errorf("%s: got %s at %v, outbound %v; want %s at %v", host, summary(b), info.Timestamp.Sub(w.began), outbound, summary(e.packet), e.at)
			}
		}
		if _, _, err := r.ReadPacketData(); err != io.EOF {
			t.Errorf("%s: got error %v behind the last packet, want the end of the file", host, err)
		}
	}
	file, err := os.ReadFile(filepath.Join(dir, "shop.pcapng"))
	if err != nil || !bytes.Contains(file, []byte("dropped at shop after")) {
		t.Errorf("got error %v and no comment about a dropped packet, want one", err)
	}
}

// Names cannot leave the folder, and files of different hosts differ, also on file systems that
// ignore case.
func TestFileNamesAreSafe(t *testing.T) {
	for name, want := range map[string]string{
		"client":                 "client",
		"../../etc/passwd":       "_.._.._etc_passwd",
		"..":                     "_..",
		"":                       "_",
		"-rf":                    "_-rf",
		`C:\x`:                   "C__x",
		"a\x00b\nc":              "a_b_c",
		"größe":                  "gr__e",
		strings.Repeat("x", 500): strings.Repeat("x", 100),
	} {
		if got := fileName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	w := failed(t, func(w *World) {
		for _, name := range []string{"a/b", "A?B", "A_B", strings.Repeat("y", 2000)} {
			w.Host(name)
		}
		w.Error("planted")
	})
	dir := reported(t, w, outcome{})
	files, err := os.ReadDir(dir)
	if len(files) != 4+2 || err != nil {
		t.Errorf("got %d files and error %v, want a capture of each of 4 hosts, the page and the schedule", len(files), err)
	}
}

// A fault of a link names what has changed.
func TestAChangedPathIsDescribed(t *testing.T) {
	for want, p := range map[string]Path{
		"a perfect path":                          {},
		"Delay 20ms, Loss 0.1":                    {Delay: 20 * time.Millisecond, Loss: 0.1},
		"Rate 1000000, CoDel true, Burst {1 0 0}": {Rate: Mbit, CoDel: true, Burst: link.Burst{Start: 1}},
	} {
		if got := describePath(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A report replaces the older one of its seed, and no other.
func TestAReportReplacesTheOlderOneOfItsSeed(t *testing.T) {
	w := failed(t, failing["fails without faults"])
	dir := reported(t, w, outcome{})
	old, other := filepath.Join(dir, "gone.pcapng"), filepath.Join(filepath.Dir(dir), "seed-2")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := writeReport(filepath.Dir(filepath.Dir(dir)), t.Name(), w, outcome{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("a file of the older report: got error %v, want that it does not exist", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the report of another seed: got error %v, want none", err)
	}
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// Nothing of the test is markup, whatever its names and messages are, and the page loads nothing.
func TestThePageEscapesTheTest(t *testing.T) {
	w := failed(t, func(w *World) {
		a, b := w.Host(`</script><script>alert("a")</script>`), w.Host(`"><img src=x onerror=alert(2)>`)
		w.Link(a, b, Path{})
		b.Start(serveHTTP(func(r http.ResponseWriter, _ *http.Request) { io.WriteString(r, "<!--<script>") })) //nolint:errcheck // the client notices
		c := a.HTTP()
		defer c.CloseIdleConnections()
		if res, err := c.Get("http://10.0.0.2/</script>"); err == nil {
			res.Body.Close()
		}
		w.At(0, func() { w.Partition(a, b) })
		time.Sleep(time.Nanosecond)
		w.Log("</script><!--")
		w.Fatal("<b onclick=alert(3)>\u2028")
	})
	dir := reported(t, w, outcome{repeatable: true, needed: []int{0}, smallest: w.recorded()})
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>alert", "<img", "<b onclick", "<!--", "ZgotmplZ", "<link", "@import", "url("} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("got %q in the page, want it escaped or absent", bad)
		}
	}
	if n := bytes.Count(text, []byte("<script")); n != 2 {
		t.Errorf("got %d scripts, want 2: the data and the code", n)
	}
	var d diagram
	if m := dataBlock.FindSubmatch(text); m == nil || json.Unmarshal(m[1], &d) != nil || len(d.Hosts) != 2 {
		t.Errorf("got the data %q, want a diagram with 2 hosts as JSON", m)
	}
}

// arrowsOf lists the arrows of a world as text.
func arrowsOf(w *World) (lines []string) {
	d := w.draw(outcome{})
	name := func(n int) string {
		if n == none {
			return "?"
		}
		return d.Hosts[n]
	}
	for _, a := range d.Arrows {
		line := fmt.Sprintf("%s > %s %s", name(a.From), name(a.To), a.Label)
		if a.Again {
			line += ", retransmission"
		}
		if a.Lost != "" {
			line += ", " + a.Lost
		}
		lines = append(lines, line)
	}
	return lines
}

// An arrow leads from the sending of a packet to its delivery or loss, with sequence numbers
// relative to the connection's, through a NAT too.
func TestArrowsJoinSendingAndDelivery(t *testing.T) {
	hello := func(w *World, client *Host, to string) {
		c, err := client.Dial("udp", to)
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "hello\n") //nolint:errcheck // the diagram shows it
		time.Sleep(time.Second)
	}
	for name, c := range map[string]struct {
		test func(*World)
		want []string
	}{
		"a connection through a NAT": {func(w *World) {
			server, nat := w.Host("server"), w.NAT("nat", NATConfig{})
			client := nat.Host("client")
			w.Link(client, nat, Path{Delay: time.Millisecond})
			w.Link(nat, server, Path{Delay: time.Millisecond})
			server.Start(func(h *Host) error {
				l, err := h.Listen("tcp", ":7")
				if err != nil {
					return err
				}
				c, err := l.Accept()
				if err != nil {
					return err
				}
				_, err = io.Copy(c, c)
				c.Close()
				return err
			})
			c, err := client.Dial("tcp", "server:7")
			if err != nil {
				w.Fatal(err)
			}
			io.WriteString(c, "echo this\n") //nolint:errcheck // the diagram shows it
			c.Read(make([]byte, 10))         //nolint:errcheck // the diagram shows it
			time.Sleep(time.Second)
			c.Close()
			time.Sleep(time.Second)
		}, []string{
			"client > server [S]", "server > client [S.] ack 1", "client > server [.] ack 1",
			"client > server [P.] seq 1:11 ack 1: echo this", "server > client [.] ack 11", "server > client [P.] seq 1:11 ack 11: echo this",
			"client > server [.] ack 11", "client > server [F.] ack 11", "server > client [.] ack 12", "server > client [F.] ack 12", "client > server [.] ack 12",
		}},
		"lost": {func(w *World) {
			a, b := w.Host("a"), w.Host("b")
			w.Link(a, b, Path{Loss: 1})
			hello(w, a, "b:9")
		}, []string{"a > b UDP, length 6: hello, lost"}},
		"duplicated": {func(w *World) {
			a, b := w.Host("a"), w.Host("b")
			w.Link(a, b, Path{Duplicate: 1})
			b.ListenPacket("udp", ":9") //nolint:errcheck // it is free
			hello(w, a, "b:9")
		}, []string{"a > b UDP, length 6: hello", "a > b UDP, length 6: hello"}},
		"without a route": {func(w *World) {
			a, r := w.Host("a"), w.Router("r")
			w.Link(a, r, Path{})
			hello(w, a, "10.0.0.99:9")
		}, []string{"a > ? UDP, length 6: hello, no route", "a > a ICMP unreachable, code 0"}},
		"under way at the end": {func(w *World) {
			a, b := w.Host("a"), w.Host("b")
			w.Link(a, b, Path{Delay: time.Hour})
			hello(w, a, "b:9")
		}, []string{"a > b UDP, length 6: hello, under way at the end"}},
	} {
		w := failed(t, func(w *World) {
			c.test(w)
			w.Error("planted")
		})
		if got := arrowsOf(w); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// A diagram has the packets around the first failure.
func TestTheDiagramIsCroppedAroundTheFirstFailure(t *testing.T) {
	for _, c := range []struct{ packets, failure, before, after int }{
		{100, 50, 0, 0},
		{2000, 10, 0, 0},
		{5000, 5000, 3000, 0},
		{5000, 10, 0, 3000},
		{5000, 3000, 1401, 1599},
	} {
		s := &sketch{}
		for n := range c.packets {
			s.Arrows = append(s.Arrows, arrow{Sent: time.Duration(n), At: time.Duration(n)})
			s.Marks = append(s.Marks, mark{At: time.Duration(n), Kind: "note"})
		}
		s.Marks = append(s.Marks, mark{Kind: "fault"})
		s.crop([]entry{{At: time.Duration(c.failure)}})
		if s.Before != c.before || s.After != c.after || len(s.Arrows) > maxArrows || len(s.Marks) > maxMarks+1 || s.Marks[len(s.Marks)-1].Kind != "fault" {
			t.Errorf("%d packets, the failure at %d: got %d left out before, %d after, %d arrows, %d marks; want %d and %d, and all faults", c.packets, c.failure, s.Before, s.After, len(s.Arrows), len(s.Marks), c.before, c.after)
		}
	}
}

// No packet, however malformed, stops the report.
func FuzzDiagram(f *testing.F) {
	for _, b := range [][]byte{nil, {0x45}, bytes.Repeat([]byte{0x60}, 48), bytes.Repeat([]byte{0x46}, 60)} {
		f.Add(b)
	}
	src, dst := addrOf("10.0.0.1/8"), addrOf("10.0.0.2/8")
	ip := wire.IPv4Fields{TTL: 64, Protocol: wire.TCPProtocol, Src: src, Dst: dst, Payload: wire.TCPHeader}
	segment := wire.AppendTCP(wire.AppendIPv4(nil, &ip), &wire.TCPFields{Src: netip.AddrPortFrom(src, 1), Dst: netip.AddrPortFrom(dst, 2), Flags: wire.SYN})
	ip.Protocol, ip.Payload = wire.ICMPv4Protocol, wire.ICMPHeader+len(segment)
	f.Add(segment)
	f.Add(wire.AppendICMP(wire.AppendIPv4(nil, &ip), wire.Unreachable, wire.FragmentationNeeded, 1400, segment))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &sketch{hosts: map[string]int{}, sent: map[uint64]*sentPacket{}, conns: connections{flows: map[flow]flowEnd{}}}
		for n, kind := range []fabric.EventKind{fabric.EventSent, fabric.EventDelivered, fabric.EventDropped} {
			s.add(&tracedEvent{at: time.Duration(n), kind: kind, node: "a", packet: b, number: 1})
		}
		file, err := link.NewCaptureFile(io.Discard, link.IP, link.CaptureConfig{})
		if err != nil || file.WritePacket(link.CapturedPacket{Bytes: b}) != nil {
			t.Error("got an error of a capture file, want none")
		}
	})
}

// A folder of reports that another user may have made is refused.
func TestAFolderOfOthersIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("each user has a folder for temporary files")
	}
	dir := t.TempDir()
	own, open, linked := filepath.Join(dir, "own"), filepath.Join(dir, "open"), filepath.Join(dir, "linked")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(dir, linked)); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{own: true, open: false, linked: false} {
		if err := ownFolder(folder); err == nil != want {
			t.Errorf("%s: got the error %v, want one: %v", filepath.Base(folder), err, !want)
		}
	}
}
