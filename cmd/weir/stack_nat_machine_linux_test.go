package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"weir/internal/testsize"
)

// virtualMachine is what starts a machine.
type virtualMachine struct {
	qemu, kernel, initramfs string
}

// newVirtualMachine returns how to start a virtual machine, or skips the test.
func newVirtualMachine(t *testing.T) *virtualMachine {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the test's virtual machine needs amd64")
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("the test needs qemu-system-x86_64: scripts/setup test")
	}
	folder := filepath.Join("..", "..", "build", "guest-kernel")
	vm := &virtualMachine{qemu: qemu, kernel: filepath.Join(folder, "vmlinuz"), initramfs: filepath.Join(t.TempDir(), "initramfs")}
	if _, err := os.Stat(vm.kernel); err != nil {
		t.Skip("the test needs a kernel for a virtual machine: scripts/guest-kernel")
	}
	if err := os.WriteFile(vm.initramfs, initramfs(t, folder), 0o600); err != nil {
		t.Fatal(err)
	}
	return vm
}

// run runs the machine until it has powered off, and returns its results. QEMU emulates the
// processor: KVM is missing, or does not work, where tests run in a virtual machine themselves.
func (vm *virtualMachine) run(t *testing.T, socket, parameters string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, vm.qemu, "-accel", "tcg", "-cpu", "max", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-m", "256", "-serial", "stdio",
		"-kernel", vm.kernel, "-initrd", vm.initramfs, "-append", "console=ttyS0 quiet panic=-1 "+parameters,
		"-netdev", "stream,id=n,addr.type=unix,addr.path="+socket, "-device", "virtio-net-pci,netdev=n,romfile=")
	out, err := c.CombinedOutput()
	results := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if _, result, ok := strings.Cut(strings.TrimSpace(lines.Text()), "RESULT "); ok {
			name, value, _ := strings.Cut(result, " ")
			results[name] = value
		}
	}
	if err != nil || t.Failed() || results["upload"] == "" {
		t.Errorf("the machine ended with %v and said:\n%s", err, out)
	}
	return results
}

// machineServer is what virtual machines fetch from, and upload to. They get the sum of an upload.
func machineServer(t *testing.T) (port string, big []byte) {
	t.Helper()
	big = make([]byte, testsize.Of(t, "WEIR_GUEST_MIB", 4)<<20)
	r := rand.NewChaCha8([32]byte{})
	for i := range big { // letters: wget of busybox posts files of text only
		big[i] = 'a' + byte(r.Uint64()&15)
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/big":
			w.Header().Set("Content-Length", strconv.Itoa(len(big)))
			w.Write(big) //nolint:errcheck // the machine sees it
		case "/upload":
			sum := sha256.New()
			n, err := io.Copy(sum, r.Body)
			fmt.Fprintf(w, "%x %d %v", sum.Sum(nil), n, err)
		default:
			io.WriteString(w, greeting)
		}
	})
	l4, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l4.Addr().String())
	servers := []*httptest.Server{{Listener: l4, Config: &http.Server{Handler: serve}}}
	if l6, err := net.Listen("tcp", "[::1]:"+port); err == nil {
		servers = append(servers, &httptest.Server{Listener: l6, Config: &http.Server{Handler: serve}})
	}
	for _, s := range servers {
		s.Start()
		t.Cleanup(s.Close)
	}
	return port, big
}

// guestNames answers questions for the IPv4 address of guest.test by 192.0.2.77, until the test
// ends.
func guestNames(t *testing.T) string {
	t.Helper()
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the server has ended
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA && q.Name.String() == "guest.test." {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 77}}}}
			}
			if said, err := m.Pack(); err == nil {
				p.WriteTo(said, from) //nolint:errcheck // the client asks again
			}
		}
	}()
	t.Cleanup(func() { p.Close(); <-done })
	return p.LocalAddr().String()
}

// A Linux kernel in QEMU configures itself by DHCP and router advertisements over virtio-net, and
// uses the network: pages, names, pings, a download and an upload. So does the next machine, which
// make soak starts.
func TestVirtualMachinesUseTheNetwork(t *testing.T) {
	vm := newVirtualMachine(t)
	port, big := machineServer(t)
	machines := testsize.Of(t, "WEIR_GUEST_MACHINES", 1) // one after the other
	mtus := []int{65520, 1500}
	if machines == 1 {
		mtus = mtus[:1]
	}
	for _, mtu := range mtus {
		socket := filepath.Join(t.TempDir(), "vm.sock")
		c := longNATCommand(t, 10*time.Minute, "nat", "--socket", socket, "--mtu", strconv.Itoa(mtu), "--loopback", "192.0.2.1", "--loopback", "2001:db8::1", "--dns", guestNames(t))
		said := startSaying(t, c, "waiting for a virtual machine")
		for range machines {
			checkMachine(t, vm.run(t, socket, "name=guest.test page_port="+port), big, mtu)
		}
		c.Process.Signal(os.Interrupt) //nolint:errcheck // Wait shows it
		if err := c.Wait(); err != nil {
			t.Errorf("after SIGINT: got %v, want a clean end: %s", err, said)
		}
	}
}

// checkMachine checks what a virtual machine has done.
func checkMachine(t *testing.T, got map[string]string, big []byte, mtu int) {
	t.Helper()
	sum := fmt.Sprintf("%x", sha256.Sum256(big))
	for name, want := range map[string]string{
		"dhcp": fmt.Sprintf("bound address=10.0.2.100/24 router=10.0.2.2 dns=10.0.2.2 mtu=%d lease=86400 server=10.0.2.2", mtu),
		"page": strings.TrimSpace(greeting), "page6": strings.TrimSpace(greeting), "name": "192.0.2.77", "ping": "2",
		"download": sum, "upload": fmt.Sprintf("%s %d <nil>", sum, len(big)),
	} {
		if got[name] != want {
			t.Errorf("MTU %d, %s: got %q, want %q", mtu, name, got[name], want)
		}
	}
	if p, err := netip.ParsePrefix(got["slaac"]); err != nil || p.Bits() != 64 || !netip.MustParsePrefix("fd00:2::/64").Contains(p.Addr()) || !strings.Contains(got["slaac"], "ff:fe") {
		t.Errorf("MTU %d: got the address %q, want one of fd00:2::/64 with the interface's identifier (RFC 4862)", mtu, got["slaac"])
	}
}
