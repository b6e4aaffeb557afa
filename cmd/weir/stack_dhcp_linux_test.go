package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/tcpip/host"
)

// serveDnsmasq runs dnsmasq in a namespace: it serves DHCP on a device, and a name. It returns the
// file with its leases.
func serveDnsmasq(t *testing.T, space, device string, more ...string) (leases string) {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command("ip", append([]string{"netns", "exec", space, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--interface=" + device, "--bind-dynamic", "--except-interface=lo",
		"--no-resolv", "--no-hosts", "--no-ping", "--address=/weir.test/10.0.7.77", "--dhcp-range=10.0.7.50,10.0.7.60,255.255.255.0,2m", "--dhcp-option=option:mtu,1400", "--dhcp-option=option:domain-search,weir.test",
		"--dhcp-leasefile=" + folder + "/leases", "--pid-file=" + folder + "/pid", "--log-dhcp", "--log-facility=" + folder + "/log"}, more...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended
		cmd.Wait()         //nolint:errcheck // it was killed
		if b, err := os.ReadFile(folder + "/log"); err == nil && t.Failed() {
			t.Logf("dnsmasq: %s", b)
		}
	})
	return folder + "/leases"
}

// A host gets its address, its default route, an MTU and a name server from dnsmasq, by DHCP. It is
// then reached and resolves names. It gives the address back at the end.
func TestAHostGetsItsAddressFromDnsmasq(t *testing.T) {
	if _, err := exec.LookPath("dnsmasq"); err != nil {
		t.Skip("the test needs dnsmasq: scripts/setup test")
	}
	s := startOnStack(t, "try:", "stack", "up", "--addr", "dhcp", "--peer", "10.0.7.1/24", "--setup", "--namespace", "NAMESPACE", "--service", "echo=7")
	leases := serveDnsmasq(t, s.space, "weir0")
	var now host.Status
	for end := time.Now().Add(time.Minute); !strings.HasPrefix(now.Addr, "10.0.7.") && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		out, wrong, _ := s.weir(t, "", "netstat", "--json")
		if err := json.Unmarshal([]byte(out), &now); err != nil {
			t.Fatalf("netstat --json: got %v, want valid JSON: %s", err, wrong)
		}
	}
	if !strings.HasPrefix(now.Addr, "10.0.7.5") && now.Addr != "10.0.7.60/24" {
		t.Fatalf("got the address %q, want one of 10.0.7.50 to 10.0.7.60", now.Addr)
	}
	addr, _, _ := strings.Cut(now.Addr, "/")
	c := s.dial(t, "tcp", addr+":7")
	echo := make([]byte, 5)
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, echo); err != nil || string(echo) != "hello" {
		t.Errorf("the echo service at %s: got %q (%v), want hello", addr, echo, err)
	}
	found := false
	for _, r := range now.Routes {
		found = found || r.To == "0.0.0.0/0" && r.Via == "10.0.7.1"
	}
	if !found {
		t.Errorf("got the routes %v, want one to 0.0.0.0/0 by 10.0.7.1", now.Routes)
	}
	if out, wrong, code := s.weir(t, "", "dns", "weir.test"); code != 0 || strings.TrimSpace(out) != "10.0.7.77" {
		t.Errorf("resolving weir.test: got %q, %q, exit status %d, want 10.0.7.77", out, wrong, code)
	}
	if b, err := os.ReadFile(leases); err != nil || !strings.Contains(string(b), addr) {
		t.Errorf("dnsmasq has the leases %q (%v), want one of %s", b, err, addr)
	}
	s.stop(t)
	time.Sleep(time.Second)
	if b, err := os.ReadFile(leases); err != nil || strings.Contains(string(b), addr) {
		t.Errorf("after the end dnsmasq has the leases %q (%v), want none of %s", b, err, addr)
	}
}

// One link leases its address, with a default route by it, and another gets one from a router. The
// first has its own.
func TestAnotherLinkGetsItsAddressFromDnsmasq(t *testing.T) {
	if _, err := exec.LookPath("dnsmasq"); err != nil {
		t.Skip("the test needs dnsmasq: scripts/setup test")
	}
	s := startOnStack(t, "try:", "stack", "up", "--addr", "10.0.0.2/24", "--link", "weir1,addr=dhcp,peer=10.0.7.1/24,metric=9", "--link", "weir2,addr=auto,peer=fd00:7::1/64", "--setup", "--namespace", "NAMESPACE", "--service", "echo=7")
	serveDnsmasq(t, s.space, "weir1", "--interface=weir2", "--enable-ra", "--dhcp-range=fd00:7::,ra-only")
	var now host.Status
	leased, auto := "", ""
	for end := time.Now().Add(time.Minute); (leased == "" || auto == "") && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		now = s.status(t)
		for _, a := range linkOf(t, &now, "weir1").Addrs {
			if strings.HasPrefix(a, "10.0.7.") {
				leased, _, _ = strings.Cut(a, "/")
			}
		}
		for _, a := range linkOf(t, &now, "weir2").Addrs {
			if strings.HasPrefix(a, "fd00:7:") {
				auto, _, _ = strings.Cut(a, "/")
			}
		}
	}
	if leased == "" || auto == "" {
		t.Fatalf("after a minute: got the links %+v, want an address of 10.0.7.0/24 on weir1 and one of fd00:7::/64 on weir2", now.Interfaces)
	}
	s.says(t, "weir1: DHCP: the address is "+leased)
	for _, addr := range []string{"10.0.0.2", leased, auto} {
		s.echoes(t, addr)
	}
	if now = s.status(t); !slices.Contains(now.Routes, host.Route{To: "0.0.0.0/0", Via: "10.0.7.1", Interface: "weir1", Metric: 9}) {
		t.Errorf("got the routes %+v, want a default route by 10.0.7.1 on weir1 with metric 9", now.Routes)
	}
	s.stop(t)
}
