package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/nat"
)

// greeting is what a guest fetches.
const greeting = "hello from this machine\n"

// greeter serves the greeting at a loopback address, and returns the port.
func greeter(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, greeting) }))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

// natCommand returns weir stack ... if namespaces and devices can be made here.
func natCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return longNATCommand(t, time.Minute, args...)
}

// longNATCommand is natCommand for one that ends by itself after that time, at the latest.
func longNATCommand(t *testing.T, limit time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); os.Getuid() != 0 || err != nil {
		t.Skipf("a TAP device in a new namespace needs root here, and /dev/net/tun (%v)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, binary(t), append([]string{"stack"}, args...)...)
}

// fetch is a program for bash that prints the body of a page.
func fetch(host, port string) string {
	return fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && tail -n 1 <&3`, host, port)
}

func TestAProgramGetsANetwork(t *testing.T) {
	port := greeter(t)
	for _, device := range []string{"--tun", "--mtu=1500"} {
		out, err := natCommand(t, "nat", device, "--loopback", "192.0.2.1", "bash", "-c", fetch("192.0.2.1", port)).CombinedOutput()
		if err != nil || string(out) != greeting {
			t.Errorf("%s: got %q and %v, want the page", device, out, err)
		}
	}
}

func TestTheProgramsStatusIsTheCommands(t *testing.T) {
	for program, want := range map[string]int{"exit 7": 7, "exit 0": 0, "kill -9 $$": 137} {
		out, err := natCommand(t, "nat", "sh", "-c", program).CombinedOutput()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		if code != want || len(out) > 0 {
			t.Errorf("%s: got status %d and %q, want %d without a word", program, code, out, want)
		}
	}
	out, err := natCommand(t, "nat", "no-such-program").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no-such-program") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("a program that does not exist: got %q and %v, want one line with its name", out, err)
	}
}

func TestTheProgramReachesNothingOfThisMachine(t *testing.T) {
	port := greeter(t)
	for _, host := range []string{"10.0.2.2", "169.254.169.254"} {
		if out, err := natCommand(t, "nat", "timeout", "2", "bash", "-c", fetch(host, port)).CombinedOutput(); err == nil {
			t.Errorf("%s: got %q, want no connection", host, out)
		}
	}
}

func TestGuestsAreNamedOnce(t *testing.T) {
	for _, args := range [][]string{{"nat"}, {"nat", "--pid", "1", "true"}, {"nat", "--socket", "a", "--fd", "3"}, {"nat", "--publish", "http", "true"}, {"socks", "no-port", "true"}} {
		out, err := natCommand(t, args...).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitUsage {
			t.Errorf("%v: got %v and %q, want the status of a usage error", args, err, out)
		}
	}
}

// Where IPv6 is turned off, the network has IPv4.
func TestANetworkWithoutIPv6(t *testing.T) {
	port := greeter(t)
	guest := exec.Command("unshare", "-n", "sh", "-c", "for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done; exec sleep 60")
	if err := guest.Start(); err != nil {
		t.Skipf("unshare is not installed: %v", err)
	}
	defer guest.Wait()
	defer guest.Process.Kill()
	waitFor(t, "IPv6 is turned off", func() bool {
		out, err := exec.Command("nsenter", "--net", "--target", fmt.Sprint(guest.Process.Pid), "cat", "/proc/sys/net/ipv6/conf/default/disable_ipv6").Output()
		return err == nil && string(out) == "1\n"
	})
	c := natCommand(t, "nat", "--pid", fmt.Sprint(guest.Process.Pid), "--loopback", "192.0.2.1")
	startSaying(t, c, "the network is there")
	out, err := exec.Command("nsenter", "--net", "--target", fmt.Sprint(guest.Process.Pid), "bash", "-c", fetch("192.0.2.1", port)).CombinedOutput()
	if err != nil || string(out) != greeting {
		t.Errorf("got %q and %v, want the page", out, err)
	}
	c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
	c.Wait()                       //nolint:errcheck // it has served
}

// A process in namespaces of its own gets a network, and a capture has its frames.
func TestAnotherProcessGetsANetwork(t *testing.T) {
	capture := filepath.Join(t.TempDir(), "guest.pcapng")
	port := greeter(t)
	guest := exec.Command("unshare", "-n", "sleep", "60")
	if err := guest.Start(); err != nil {
		t.Skipf("unshare is not installed: %v", err)
	}
	defer guest.Wait()
	defer guest.Process.Kill()
	waitFor(t, "the namespace is there", func() bool {
		own, _ := os.Readlink("/proc/self/ns/net")
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", guest.Process.Pid))
		return err == nil && its != own
	})
	c := natCommand(t, "nat", "--pid", fmt.Sprint(guest.Process.Pid), "--loopback", "192.0.2.1", "--pcap", capture)
	said := startSaying(t, c, "the network is there")
	out, err := exec.Command("nsenter", "--net", "--target", fmt.Sprint(guest.Process.Pid), "bash", "-c", fetch("192.0.2.1", port)).CombinedOutput()
	if err != nil || string(out) != greeting {
		t.Errorf("got %q and %v, want the page", out, err)
	}
	c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGINT: got %v and %q, want a clean end", err, said)
	}
	frames, err := os.ReadFile(capture)
	if err != nil || !bytes.Contains(frames, []byte(greeting)) {
		t.Errorf("the capture has %d bytes (%v), want the page in it", len(frames), err)
	}
}

// A virtual machine, here a stack, gets a network by a Unix socket with QEMU's framing, and so does
// the next one.
func TestAVirtualMachineGetsANetwork(t *testing.T) {
	port := greeter(t)
	path := filepath.Join(t.TempDir(), "vm.sock")
	c := natCommand(t, "nat", "--socket", path, "--mtu", "1500", "--loopback", "192.0.2.1")
	startSaying(t, c, "waiting for a virtual machine")
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v (%v), want 0600: a network for one user", i.Mode(), err)
	}
	gateway := netip.MustParseAddr("10.0.2.2")
	for range 2 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := link.Over(link.Prefixed(conn), link.OverConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := tcpip.New(tcpip.Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.2.100/24")}, Routes: []ip.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: gateway}}})
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{DialContext: s.DialContext, DisableKeepAlives: true}, Timeout: 30 * time.Second}
		resp, err := client.Get("http://192.0.2.1:" + port)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != greeting {
			t.Errorf("got %q and %v, want the page", body, err)
		}
		resp.Body.Close()
		s.Close()
	}
	c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGINT: got %v, want a clean end", err)
	}
}

// A killed process leaves its socket, which the next one replaces. Each machine has a capture.
func TestASocketIsReplacedAndServesMachinesWithCaptures(t *testing.T) {
	dir := t.TempDir()
	path, capture := filepath.Join(dir, "vm.sock"), filepath.Join(dir, "vm.pcapng")
	killed := natCommand(t, "nat", "--socket", path)
	startSaying(t, killed, "waiting for a virtual machine")
	if out, err := natCommand(t, "nat", "--socket", path).CombinedOutput(); err == nil || !strings.Contains(string(out), "in use") {
		t.Errorf("a second process at the socket: got %v and %q, want an error: it is in use", err, out)
	}
	killed.Process.Kill() //nolint:errcheck // Wait shows it
	killed.Wait()         //nolint:errcheck // it was killed
	c := natCommand(t, "nat", "--socket", path, "--pcap", capture)
	said := startSaying(t, c, "waiting for a virtual machine")
	for i, file := range []string{capture, capture + ".2"} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the machine is served: "+file, func() bool { return strings.Count(said.String(), "a virtual machine is there") == i+1 })
		conn.Close()
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
	if err := c.Wait(); err != nil {
		t.Errorf("after SIGINT: got %v and %q, want a clean end", err, said)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is left after SIGINT, want none")
	}
}

func TestPublishedPortsAreParsed(t *testing.T) {
	at := func(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }
	for text, want := range map[string]nat.Publish{
		"8080:80":           {Network: "tcp", Listen: at("127.0.0.1:8080"), To: netip.AddrPortFrom(netip.Addr{}, 80)},
		"80":                {Network: "tcp", Listen: at("127.0.0.1:80"), To: netip.AddrPortFrom(netip.Addr{}, 80)},
		"0.0.0.0:8080:80":   {Network: "tcp", Listen: at("0.0.0.0:8080"), To: netip.AddrPortFrom(netip.Addr{}, 80)},
		"[::1]:53:5353/udp": {Network: "udp", Listen: at("[::1]:53"), To: netip.AddrPortFrom(netip.Addr{}, 5353)},
	} {
		if got, err := parsePublish(text); err != nil || got != want {
			t.Errorf("%s: got %+v and %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a:80", "80:a", "80:0", "70000:80", "80:80/sctp", "host:80:80", "80:80/"} {
		if got, err := parsePublish(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

// waitFor waits until done.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting until %s: it took too long", what)
		}
	}
}

// startSaying starts a command and waits until it says what is given.
func startSaying(t *testing.T, c *exec.Cmd, what string) *lockedBuffer {
	t.Helper()
	said := &lockedBuffer{}
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it says "+what, func() bool { return strings.Contains(said.String(), what) })
	return said
}

// lockedBuffer is a buffer that is read while a command writes to it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
