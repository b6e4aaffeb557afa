package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"weir/tcpip/host"
)

// startLinked starts a host with two TAP devices and a TUN device, whose kernel sides are 10.0.0.1,
// 10.1.0.1 with fd00:1::1, and 10.2.0.1.
func startLinked(t *testing.T, more ...string) *onStack {
	t.Helper()
	return startOnStack(t, "try:", append([]string{"stack", "up", "--addr", "10.0.0.2/24", "--link", "weir1,addr=10.1.0.2/24,addr=fd00:1::2/64,mtu=1400,metric=100",
		"--link", "tun2,tun,addr=10.2.0.2/24", "--setup", "--namespace", "NAMESPACE", "--service", "echo=7"}, more...)...)
}

// status returns the host's status.
func (s *onStack) status(t *testing.T) (now host.Status) {
	t.Helper()
	out, wrong, code := s.weir(t, "", "netstat", "--json")
	if err := json.Unmarshal([]byte(out), &now); code != 0 || err != nil {
		t.Fatalf("netstat --json: got exit status %d, error %v, want 0 and valid JSON: %s", code, err, wrong)
	}
	return now
}

// linkOf returns what the status has of a link.
func linkOf(t *testing.T, s *host.Status, name string) host.Interface {
	t.Helper()
	at := slices.IndexFunc(s.Interfaces, func(i host.Interface) bool { return i.Name == name })
	if at < 0 {
		t.Fatalf("the status has the links %+v, want %s among them", s.Interfaces, name)
	}
	return s.Interfaces[at]
}

// echoes checks that a connection from the kernel to the echo service works.
func (s *onStack) echoes(t *testing.T, addr string) {
	t.Helper()
	c := s.dial(t, "tcp", net.JoinHostPort(addr, "7"))
	defer c.Close()
	b := make([]byte, 5)
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Errorf("the echo service at %s: got %q, error %v, want the same text back", addr, b, err)
	}
}

func TestAHostHasSeveralLinks(t *testing.T) {
	s := startLinked(t, "--gateway", "10.0.0.1", "--gateway", "10.1.0.1", "--route", "192.0.2.0/24=tun2")
	var kernel1 string // the kernel's link-local address on weir1
	s.inSpace(t, func() error {
		l, err := netlink.LinkByName("weir1")
		if err != nil {
			return err
		}
		addrs, err := netlink.AddrList(l, netlink.FAMILY_V6)
		for _, a := range addrs {
			if a.IP.IsLinkLocalUnicast() {
				kernel1 = a.IP.String() + "%weir1"
			}
		}
		return err
	})
	t.Run("pings by each", func(t *testing.T) {
		for _, to := range []string{"10.0.0.1", "10.1.0.1", "fd00:1::1", "10.2.0.1", kernel1} {
			if out, wrong, code := s.weir(t, "", "ping", "-c", "1", "-W", "30", to); code != 0 {
				t.Errorf("ping %s: got exit status %d, want 0: %s%s", to, code, out, wrong)
			}
		}
	})
	t.Run("answers by each", func(t *testing.T) {
		for _, to := range []string{"10.0.0.2", "10.1.0.2", "fd00:1::2", "10.2.0.2"} {
			s.echoes(t, to)
		}
	})
	t.Run("connects by each", func(t *testing.T) { connectsByEach(t, s, kernel1) })
	t.Run("shows its links", func(t *testing.T) { showsItsLinks(t, s) })
	t.Run("impairs one", func(t *testing.T) { impairsOne(t, s) })
	t.Run("changes a link", func(t *testing.T) { changesALink(t, s) })
	t.Run("refuses wrong changes", func(t *testing.T) { refusesWrongChanges(t, s) })
	s.stop(t)
	if _, err := os.Stat("/run/netns/" + s.space); err == nil {
		t.Errorf("namespace %s after the host stopped: got it, want it deleted: --setup created it", s.space)
	}
}

// connectsByEach connects from the host to the kernel's address on each link, and sees from which
// address.
func connectsByEach(t *testing.T, s *onStack, kernel1 string) {
	var l net.Listener
	s.inSpace(t, func() (err error) { l, err = net.Listen("tcp", ":8000"); return err })
	defer l.Close()
	go func() { // until l is closed
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, c.RemoteAddr().(*net.TCPAddr).IP.String()) //nolint:errcheck // the client tells
			c.Close()                                                    //nolint:errcheck // nothing can be done
		}
	}()
	for to, from := range map[string]string{"10.0.0.1": "10.0.0.2", "10.1.0.1": "10.1.0.2", "fd00:1::1": "fd00:1::2", "10.2.0.1": "10.2.0.2", kernel1: "fe80:"} {
		if out, wrong, code := s.weir(t, "", "nc", to, "8000"); code != 0 || !strings.HasPrefix(out, from) {
			t.Errorf("nc %s 8000: got exit status %d, a connection from %q, want 0 and one from %s: %s", to, code, out, from, wrong)
		}
	}
}

func showsItsLinks(t *testing.T, s *onStack) {
	now := s.status(t)
	w1, tun := linkOf(t, &now, "weir1"), linkOf(t, &now, "tun2")
	if w1.Kind != "tap" || w1.MTU != 1400 || w1.Metric != 100 || !slices.Contains(w1.Addrs, "10.1.0.2/24") || !slices.Contains(w1.Addrs, "fd00:1::2/64") || w1.Received == 0 {
		t.Errorf("weir1: got %+v, want a tap with MTU 1400, metric 100, both addresses and received frames", w1)
	}
	if tun.Kind != "tun" || tun.MAC != "" || !slices.Equal(tun.Addrs, []string{"10.2.0.2/24"}) || tun.Received == 0 {
		t.Errorf("tun2: got %+v, want a tun without hardware address, its address and received packets", tun)
	}
	if now.Tap != "weir0" || now.Addr != "10.0.0.2/24" {
		t.Errorf("got the host %s on %s, want that of the first link: 10.0.0.2/24 on weir0", now.Addr, now.Tap)
	}
	for _, want := range []host.Route{{To: "0.0.0.0/0", Via: "10.0.0.1", Interface: "weir0"}, {To: "0.0.0.0/0", Via: "10.1.0.1", Interface: "weir1", Metric: 100}, {To: "192.0.2.0/24", Interface: "tun2"}, {To: "10.2.0.0/24", Interface: "tun2"}} {
		if !slices.Contains(now.Routes, want) {
			t.Errorf("got the routes %+v, want %+v among them", now.Routes, want)
		}
	}
	if !slices.ContainsFunc(now.Neighbours, func(n host.Neighbour) bool { return n.Addr == "10.1.0.1" && n.Interface == "weir1" }) {
		t.Errorf("got the neighbours %+v, want 10.1.0.1 on weir1", now.Neighbours)
	}
	out, _, _ := s.weir(t, "", "netstat")
	for _, want := range []string{"10.0.0.2/24 on weir0", "on weir1 in " + s.space, "10.2.0.2/24 on tun2 in " + s.space + " (TUN)", "metric 100"} {
		if !strings.Contains(out, want) {
			t.Errorf("netstat lacks %q, want it in:\n%s", want, out)
		}
	}
	if out, wrong, code := s.weir(t, "", "link", "tun2"); code != 0 || !strings.Contains(out, "10.2.0.2/24") || strings.Contains(out, "weir1") {
		t.Errorf("link tun2: got exit status %d, %q, want 0 and that link only: %s", code, out, wrong)
	}
}

func impairsOne(t *testing.T, s *onStack) {
	if out, wrong, code := s.weir(t, "", "impair", "--link", "weir1", "loss=100%"); code != 0 || out != "loss=100%\n" {
		t.Errorf("impair --link weir1: got exit status %d, %q, want 0 and its impairment: %s", code, out, wrong)
	}
	if out, _, _ := s.weir(t, "", "impair"); out != "weir0: off\nweir1: loss=100%\ntun2: off\n" {
		t.Errorf("impair: got %q, want a line for each link", out)
	}
	if _, _, code := s.weir(t, "", "ping", "-c", "1", "-W", "0.05", "10.1.0.1"); code != 1 {
		t.Errorf("ping over weir1 with loss=100%%: got exit status %d, want 1", code)
	}
	if out, wrong, code := s.weir(t, "", "ping", "-c", "1", "-W", "30", "10.0.0.1"); code != 0 {
		t.Errorf("ping over weir0: got exit status %d, want 0: %s%s", code, out, wrong)
	}
	if _, wrong, code := s.weir(t, "", "impair", "--link", "weir9", "off"); code != 1 || !strings.Contains(wrong, "weir0 or weir1 or tun2") {
		t.Errorf("impair --link weir9: got exit status %d, %q, want 1 and the links", code, wrong)
	}
	if out, _, code := s.weir(t, "", "impair", "off"); code != 0 || out != "off\n" {
		t.Errorf("impair off: got exit status %d, %q, want 0 and off for all links", code, out)
	}
}

// A removed address ends its connections with an error that says so; those of other links stay.
func changesALink(t *testing.T, s *onStack) {
	var l net.Listener
	s.inSpace(t, func() (err error) { l, err = net.Listen("tcp", ":8001"); return err })
	defer l.Close()
	open := func(to string) (peer net.Conn, wait func() (string, int)) {
		cmd := exec.Command(binary(t), "stack", "nc", to, "8001")
		var wrong bytes.Buffer
		cmd.Env, cmd.Stderr = s.env, &wrong
		in, err := cmd.StdinPipe() // open until the command ends
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c, func() (string, int) {
			if strings.HasPrefix(to, "10.0.") { // it stays open: both ends close it
				c.Close()
				in.Close()
			}
			cmd.Wait() //nolint:errcheck // the exit status tells
			return wrong.String(), cmd.ProcessState.ExitCode()
		}
	}
	peer, waitForRemoved := open("10.1.0.1")
	_, waitForOther := open("10.0.0.1")
	if out, wrong, code := s.weir(t, "", "link", "weir1", "--remove", "10.1.0.2", "--add", "10.1.0.3/24", "--mtu", "1300"); code != 0 || !strings.Contains(out, "10.1.0.3/24") || strings.Contains(out, "10.1.0.2/24") || !strings.Contains(out, "1300") {
		t.Errorf("link weir1: got exit status %d, want 0, 10.1.0.3/24 instead of 10.1.0.2/24, and MTU 1300 in: %s%s", code, out, wrong)
	}
	if wrong, code := waitForRemoved(); code != 1 || !strings.Contains(wrong, "connection abort") {
		t.Errorf("nc from the removed address: got exit status %d, %q, want 1 and that the connection was aborted", code, wrong)
	}
	peer.SetReadDeadline(time.Now().Add(30 * time.Second)) //nolint:errcheck // reading tells
	if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer of the removed address: got error %v, want ECONNRESET", err)
	}
	if wrong, code := waitForOther(); code != 0 {
		t.Errorf("nc from weir0: got exit status %d, %q, want 0: its address stays", code, wrong)
	}
	s.echoes(t, "10.1.0.3")
	now := s.status(t)
	if l := linkOf(t, &now, "weir1"); l.MTU != 1300 || !slices.Contains(l.Addrs, "10.1.0.3/24") || slices.Contains(l.Addrs, "10.1.0.2/24") {
		t.Errorf("weir1: got %+v, want MTU 1300 and the new address only", l)
	}
}

func refusesWrongChanges(t *testing.T, s *onStack) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"link weir1 --remove x", 2, "--remove"},
		{"link weir1 --add 10.1.0.4", 2, "prefix length"},
		{"link weir1 --mtu -1", 2, "--mtu"},
		{"link weir1 --mtu 9000", 1, "1280 to 1400"},
		{"link --mtu 1300", 1, "name the one to change"},
		{"link weir9 --mtu 1300", 1, "weir0 or weir1 or tun2"},
		{"link weir9", 1, "weir stack link"},
		{"link weir1 --remove 10.0.0.2", 1, "an address of weir0, not of weir1"},
		{"link weir1 --remove 10.1.0.77", 1, "does not have the address"},
		{"link weir1 --add 10.0.0.2/24", 1, "already"},
		{"link weir1 --add 127.0.0.1/8", 1, "no host can have"},
	} {
		if out, wrong, code := s.weir(t, "", strings.Fields(c.args)...); code != c.code || !strings.Contains(wrong, c.says) || strings.Count(wrong, "\n") != 1 {
			t.Errorf("weir stack %s: got exit status %d, %q, want %d and one line that says %q: %s", c.args, code, wrong, c.code, c.says, out)
		}
	}
}

// The frames of all links are in one capture, unless it is for one of them. An impairment can be
// for one of them too.
func TestACaptureAndAnImpairmentAreForAllLinksOrForOne(t *testing.T) {
	all, one := filepath.Join(t.TempDir(), "all.pcapng"), filepath.Join(t.TempDir(), "one.pcapng")
	for file, pcap := range map[string]string{all: all, one: "tun2:" + one} {
		s := startLinked(t, "--pcap", pcap, "--impair", "delay=1ms", "--impair", "weir1:delay=2ms")
		for _, to := range []string{"10.0.0.2", "10.1.0.2", "10.2.0.2"} {
			s.echoes(t, to)
		}
		if out, _, _ := s.weir(t, "", "impair"); out != "weir0: delay=1ms\nweir1: delay=2ms\ntun2: delay=1ms\n" {
			t.Errorf("impair: got %q, want 2 ms on weir1 and 1 ms on the others", out)
		}
		s.stop(t)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range []string{"10.0.0.2", "10.1.0.2", "10.2.0.2"} {
			a := netip.MustParseAddr(addr).As4()
			if has, want := bytes.Contains(b, a[:]), file == all || addr == "10.2.0.2"; has != want {
				t.Errorf("--pcap %s: packets of %s: got %t, want %t", filepath.Base(pcap), addr, has, want)
			}
		}
	}
}

// A host whose devices were all made by --setup keeps no capability: the kernel removes them at its
// end.
func TestAHostWithSeveralTransientDevicesKeepsNoCapability(t *testing.T) {
	space := stackNamespace(t)
	if out, err := exec.Command("ip", "netns", "add", space).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %s (%v)", out, err)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", space).Run() }) //nolint:errcheck // it exists
	s := startIn(t, space, "try:", "stack", "up", "--addr", "10.0.0.2/24", "--link", "weir1,addr=10.1.0.2/24", "--setup", "--namespace", space, "--service", "echo=7")
	s.echoes(t, "10.1.0.2")
	if got := rights(t, s.Process.Pid); !got["CapPrm: 0000000000000000"] || len(got) != 6 {
		t.Errorf("the threads have %v, want no capability, permitted or effective, on any", got)
	}
	s.stop(t)
	for _, name := range []string{"weir0", "weir1"} {
		if out, err := exec.Command("ip", "-n", space, "link", "show", name).CombinedOutput(); err == nil {
			t.Errorf("after the host ended: got the device %s, want it gone: %s", name, out)
		}
	}
}
