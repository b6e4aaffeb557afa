package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/net/dns/dnsmessage"

	"weir/tcpip/host"
)

// onStack is a host that runs in a network namespace of its own, with this machine's kernel as its
// neighbour 10.0.0.1.
type onStack struct {
	served
	space string   // the namespace
	env   []string // of commands that use it
	peer  http.Client
}

// stackNamespace is a name for one; where none may be made, the test is skipped.
func stackNamespace(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); os.Getuid() != 0 || err != nil {
		t.Skipf("a host on a TAP device in a namespace of its own needs root and /dev/net/tun (%v)", err)
	}
	return fmt.Sprintf("weircmd%d-%d", os.Getpid(), time.Now().UnixNano()%1e6)
}

// inSpace calls do on a thread in the host's namespace: sockets that it makes are there.
func (s *onStack) inSpace(t *testing.T, do func() error) {
	t.Helper()
	done := make(chan error, 1) // the goroutine below -> here: one
	go func() {
		runtime.LockOSThread() // and never unlocked: so the thread ends
		h, err := netns.GetFromName(s.space)
		if err == nil {
			defer h.Close()
			err = netns.Set(h)
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Errorf("in the namespace %s: got %v, want no error", s.space, err)
	}
}

// dial connects from the kernel's side.
func (s *onStack) dial(t *testing.T, network, addr string) (c net.Conn) {
	t.Helper()
	s.inSpace(t, func() (err error) {
		c, err = net.DialTimeout(network, addr, 30*time.Second)
		return err
	})
	if c == nil {
		t.FailNow()
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second)) //nolint:errcheck // reading tells
	return c
}

// startOnStack runs weir and waits until its output contains readyText. In the arguments it
// replaces NAMESPACE by the name of a new network namespace.
func startOnStack(t *testing.T, readyText string, args ...string) *onStack {
	t.Helper()
	return startIn(t, stackNamespace(t), readyText, args...)
}

// startIn is startOnStack for a namespace whose name the caller has chosen.
func startIn(t *testing.T, space, readyText string, args ...string) *onStack {
	t.Helper()
	s := &onStack{space: space}
	folder, err := os.MkdirTemp("", "weir") // a short path, as sockets have to have
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s.env = append(os.Environ(), "XDG_RUNTIME_DIR="+folder)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "NAMESPACE", s.space)
	}
	s.Cmd = exec.Command(binary(t), args...)
	s.Env = s.env
	t.Cleanup(func() { netns.DeleteNamed(s.space) }) //nolint:errcheck // it exists only if the host was killed, after a failure
	s.url = s.start(t, readyText)
	s.peer = http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
		return s.dial(t, network, addr), nil
	}}}
	return s
}

// weir runs a command that uses the host.
func (s *onStack) weir(t *testing.T, input string, args ...string) (out, wrong string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), append([]string{"stack"}, args...)...)
	cmd.Env, cmd.Stdin = s.env, strings.NewReader(input)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), code
}

// A host with an address of each version of IP is pinged and reached by both.
func TestAHostHasIPv6(t *testing.T) {
	s := startOnStack(t, "try:", "stack", "up", "--addr", "10.0.0.2/24", "--addr", "fd00:77::2/64", "--setup", "--namespace", "NAMESPACE", "--service", "echo=7", "--gateway", "fd00:77::1")
	if out, wrong, code := s.weir(t, "", "ping", "-c", "2", "-i", "0.01", "fd00:77::1"); code != 0 || !strings.Contains(out, "2 of 2") && !strings.Contains(out, "from fd00:77::1") {
		t.Errorf("ping: got %q, %q, exit status %d, want two answers", out, wrong, code)
	}
	c := s.dial(t, "tcp", "[fd00:77::2]:7")
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Errorf("the echo service: got %q, error %v, want the same text back", b, err)
	}
	out, _, _ := s.weir(t, "", "netstat")
	for _, want := range []string{"10.0.0.2/24, fd00:77::2/64, fe80::", "::/0", "fd00:77::1", "[fd00:77::2]:7"} {
		if !strings.Contains(out, want) {
			t.Errorf("netstat lacks %q, want it in:\n%s", want, out)
		}
	}
}

func TestAHostServesAndConnectsUntilItStops(t *testing.T) {
	www := t.TempDir()
	capture := filepath.Join(t.TempDir(), "up.pcapng")
	write(t, filepath.Join(www, "page.html"), "a page of the host's")
	s := startOnStack(t, "metrics on", "stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", "NAMESPACE", "--service", "echo=7", "--service", "files=80:"+www,
		"--pcap", capture, "--dns", "10.0.0.1:5353", "--metrics", "127.0.0.1:0")
	s.says(t, "try:")
	if code, text := s.get(t, ""); code != 200 || !strings.Contains(text, `weir_stack_frames_total{direction="in",interface="weir0"}`) {
		t.Errorf("GET /metrics: got %d, want 200 and the count of frames in: %s", code, text)
	}
	t.Run("is reached", func(t *testing.T) { isReached(t, s) })
	t.Run("gets", func(t *testing.T) { gets(t, s) })
	t.Run("pings", func(t *testing.T) { pings(t, s) })
	t.Run("connects", func(t *testing.T) { connects(t, s) })
	t.Run("listens", func(t *testing.T) { listens(t, s) })
	t.Run("asks for names", func(t *testing.T) { asksForNames(t, s) })
	t.Run("shows itself", func(t *testing.T) { showsItself(t, s) })
	again := exec.Command(binary(t), "stack", "up", "--addr", "10.0.0.3/24", "--namespace", s.space)
	again.Env = s.env
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "runs on weir0 already") {
		t.Errorf("a second host on the device: got error %v and %q, want one that says a host runs on weir0 already", err, out)
	}
	s.stop(t)
	if _, err := os.Stat("/run/netns/" + s.space); err == nil {
		t.Errorf("namespace %s after the host stopped: got it, want it deleted: --setup created it", s.space)
	}
	recorded, err := os.ReadFile(capture)
	if err != nil || !bytes.HasPrefix(recorded, []byte{0x0a, 0x0d, 0x0d, 0x0a}) || !bytes.Contains(recorded, []byte("a page of the host's")) {
		t.Errorf("capture: got %d bytes, error %v, want pcapng with the page's packets", len(recorded), err)
	}
	if out, wrong, code := s.weir(t, "", "netstat"); code != 1 || !strings.Contains(wrong, "no host runs") {
		t.Errorf("netstat after the host stopped: got exit status %d, %q, %q, want 1 and that no host runs", code, out, wrong)
	}
}

func isReached(t *testing.T, s *onStack) {
	resp, err := s.peer.Get("http://10.0.0.2/page.html")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || string(page) != "a page of the host's" {
		t.Errorf("GET /page.html from the kernel: got %q, error %v, want the host's page", page, err)
	}
	c := s.dial(t, "tcp", "10.0.0.2:7")
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite() //nolint:errcheck // reading tells
	if back, err := io.ReadAll(c); err != nil || string(back) != "hello" {
		t.Errorf("echo: got %q, error %v, want %q", back, err, "hello")
	}
}

func gets(t *testing.T, s *onStack) {
	var l net.Listener
	s.inSpace(t, func() (err error) { l, err = net.Listen("tcp", "10.0.0.1:8000"); return err })
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, "the kernel's page") //nolint:errcheck // the client tells
	})}
	go web.Serve(l) //nolint:errcheck // until Close
	defer web.Close()
	if out, wrong, code := s.weir(t, "", "get", "http://10.0.0.1:8000/page"); code != 0 || out != "the kernel's page" {
		t.Errorf("get: got exit status %d, %q, want 0 and the page: %s", code, out, wrong)
	}
	file := filepath.Join(t.TempDir(), "page")
	out, wrong, code := s.weir(t, "", "get", "-o", file, "10.0.0.1:8000/page")
	if page, _ := os.ReadFile(file); code != 0 || out != "" || string(page) != "the kernel's page" {
		t.Errorf("get -o: got exit status %d, file %q, output %q, want 0, the page in the file and no output: %s", code, page, out, wrong)
	}
	if _, wrong, code := s.weir(t, "", "get", "10.0.0.1:8000/other"); code != 1 || !strings.Contains(wrong, "404") {
		t.Errorf("get of a missing page: got exit status %d, %q, want 1 and 404", code, wrong)
	}
	if _, wrong, code := s.weir(t, "", "get", "-o", file, "10.0.0.1:8001/"); code != 1 || !strings.Contains(wrong, "refused") {
		t.Errorf("get from a closed port: got exit status %d, %q, want 1 and that it was refused", code, wrong)
	}
}

func pings(t *testing.T, s *onStack) {
	out, wrong, code := s.weir(t, "", "ping", "-c", "3", "-i", "0.01", "-W", "30", "10.0.0.1")
	if code != 0 || !strings.Contains(out, "64 bytes from 10.0.0.1: seq=3 time=") || !strings.Contains(out, "3 packets sent, 3 received, 0% lost\nrtt min/avg/max/mdev = ") {
		t.Errorf("ping -c 3: got exit status %d, want 0, a line for seq=3 and the summary of 3 answers in: %s%s", code, out, wrong)
	}
	if out, _, code := s.weir(t, "", "impair", "loss=100%"); code != 0 || out != "loss=100%\n" {
		t.Errorf("impair loss=100%%: got exit status %d, %q, want 0 and the new setting", code, out)
	}
	var report pingReport
	out, wrong, code = s.weir(t, "", "ping", "-c", "2", "-i", "0.01", "-W", "0.05", "--json", "10.0.0.1")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 1 || report.Sent != 2 || report.Received != 0 || !strings.Contains(wrong, "no ping was answered") {
		t.Errorf("ping over a link that loses all: got exit status %d, %q, %q, JSON error %v, want 1 with 2 sent and 0 received", code, out, wrong, err)
	}
	if out, _, code := s.weir(t, "", "impair", "off"); code != 0 || out != "off\n" {
		t.Errorf("impair off: got exit status %d, %q, want 0 and off", code, out)
	}
	out, wrong, code = s.weir(t, "", "ping", "-c", "1", "-W", "30", "-s", "3000", "--json", "10.0.0.1")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || report.Received != 1 || report.RTT.Min <= 0 {
		t.Errorf("ping of 3000 bytes, in fragments: got exit status %d, %q, %q, JSON error %v, want 0 and 1 received with a round-trip time", code, out, wrong, err)
	}
}

func connects(t *testing.T, s *onStack) {
	if out, wrong, code := s.weir(t, "hello\n", "nc", "127.0.0.1", "7"); code != 0 || out != "hello\n" {
		t.Errorf("nc to the host's echo: got exit status %d, %q, want 0 and %q: %s", code, out, "hello\n", wrong)
	}
	if _, wrong, code := s.weir(t, "", "nc", "10.0.0.1", "9"); code != 1 || !strings.Contains(wrong, "refused") {
		t.Errorf("nc to a closed port: got exit status %d, %q, want 1 and that it was refused", code, wrong)
	}
	var p net.PacketConn
	s.inSpace(t, func() (err error) { p, err = net.ListenPacket("udp", "10.0.0.1:9999"); return err })
	defer p.Close()
	go func() { // until p is closed
		b := make([]byte, 100)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			p.WriteTo(bytes.ToUpper(b[:n]), from) //nolint:errcheck // the client tells
		}
	}()
	cmd := exec.Command(binary(t), "stack", "nc", "-u", "-w", "60", "10.0.0.1", "9999")
	cmd.Env, cmd.Stdin = s.env, strings.NewReader("datagram")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len("datagram"))
	if _, err := io.ReadFull(out, b); err != nil || string(b) != "DATAGRAM" {
		t.Errorf("nc -u: got %q, error %v, want the answer %q", b, err, "DATAGRAM")
	}
	cmd.Process.Signal(os.Interrupt) //nolint:errcheck // Wait tells
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("nc after an interrupt: got %v, want exit status 130", cmd.ProcessState)
	}
}

func listens(t *testing.T, s *onStack) {
	cmd := exec.Command(binary(t), "stack", "nc", "-l", "8080")
	cmd.Env, cmd.Stdin = s.env, strings.NewReader("from the host")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for listening := false; !listening; time.Sleep(time.Millisecond) {
		now, _, _ := s.weir(t, "", "netstat", "--json")
		listening = strings.Contains(now, `"[::]:8080"`)
	}
	c := s.dial(t, "tcp", "10.0.0.2:8080")
	if _, err := io.WriteString(c, "from the kernel"); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite() //nolint:errcheck // reading tells
	if got, err := io.ReadAll(c); err != nil || string(got) != "from the host" {
		t.Errorf("the kernel read %q, error %v, want nc's standard input %q", got, err, "from the host")
	}
	if err := cmd.Wait(); err != nil || out.String() != "from the kernel" {
		t.Errorf("nc -l: got output %q, error %v, want %q and exit status 0", out.String(), err, "from the kernel")
	}
}

// asksForNames has a server on the kernel's side that knows one name.
func asksForNames(t *testing.T, s *onStack) {
	var p net.PacketConn
	s.inSpace(t, func() (err error) { p, err = net.ListenPacket("udp", "10.0.0.1:5353"); return err })
	defer p.Close()
	go func() { // until p is closed
		b := make([]byte, 1000)
		for {
			n, from, err := p.ReadFrom(b)
			var m dnsmessage.Message
			if err != nil || m.Unpack(b[:n]) != nil {
				return
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Name.String() == "page.test." && q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: [4]byte{10, 0, 0, 1}}}}
			} else {
				m.RCode = dnsmessage.RCodeNameError
			}
			if said, err := m.Pack(); err == nil {
				p.WriteTo(said, from) //nolint:errcheck // the client tells
			}
		}
	}()
	if out, wrong, code := s.weir(t, "", "dns", "page.test."); code != 0 || out != "10.0.0.1\n" {
		t.Errorf("dns page.test.: got exit status %d, %q, want 0 and 10.0.0.1: %s", code, out, wrong)
	}
	if out, wrong, code := s.weir(t, "", "ping", "-c", "1", "-W", "30", "page.test."); code != 0 || !strings.Contains(out, "from 10.0.0.1") {
		t.Errorf("ping page.test.: got exit status %d, %q, want 0 and an answer from 10.0.0.1: %s", code, out, wrong)
	}
	if _, wrong, code := s.weir(t, "", "dns", "other.test."); code != 1 || !strings.Contains(wrong, "no such host") {
		t.Errorf("dns of an unknown name: got exit status %d, %q, want 1 and no such host", code, wrong)
	}
	if _, wrong, code := s.weir(t, "", "dns", "page.test", "XX"); code != 1 || !strings.Contains(wrong, "AAAA") {
		t.Errorf("dns of the unknown type XX: got exit status %d, %q, want 1 and the known types", code, wrong)
	}
}

func showsItself(t *testing.T, s *onStack) {
	c := s.dial(t, "tcp", "10.0.0.2:7")
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	out, wrong, code := s.weir(t, "", "netstat")
	for _, want := range []string{"10.0.0.2/24 on weir0 in " + s.space, c.LocalAddr().String(), "ESTABLISHED", "tcp [::]:80", "files", "10.0.0.0/24", "neighbours"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q is not in %s%s", want, out, wrong)
		}
	}
	out, _, _ = s.weir(t, "", "netstat", "--json")
	var now host.Status
	if err := json.Unmarshal([]byte(out), &now); err != nil || now.Addr != "10.0.0.2/24" || now.Namespace != s.space || len(now.Connections) == 0 {
		t.Errorf("netstat --json: got error %v, want the host's address, namespace and a connection in: %s", err, out)
	}
	if out, wrong, code := s.weir(t, "", "draw"); code != 0 || !strings.HasPrefix(out, "<svg") || !strings.Contains(out, "ipv4") {
		t.Errorf("draw: got exit status %d, want 0 and an SVG with ipv4: %s%s", code, out, wrong)
	}
	if out, wrong, code := s.weir(t, "", "draw", "--format", "mermaid"); code != 0 || !strings.HasPrefix(out, "flowchart") {
		t.Errorf("draw --format mermaid: got exit status %d, want 0 and a flowchart: %s%s", code, out, wrong)
	}
}

// A host whose device goes away says so, and ends.
func TestAHostEndsWhenItsDeviceIsRemoved(t *testing.T) {
	s := startOnStack(t, "try:", "stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", "NAMESPACE")
	s.inSpace(t, func() error {
		l, err := netlink.LinkByName("weir0")
		if err != nil {
			return err
		}
		return netlink.LinkDel(l)
	})
	s.says(t, "the device is gone")
	if err := s.Wait(); err == nil || s.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended by %v, want exit status 1", err)
	}
	if _, err := os.Stat("/run/netns/" + s.space); err == nil {
		t.Errorf("namespace %s after the host stopped: got it, want it deleted: --setup created it", s.space)
	}
}

func TestServeAnswersOnAHostInUserSpace(t *testing.T) {
	www := t.TempDir()
	write(t, filepath.Join(www, "index.html"), "a site on the stack")
	s := startOnStack(t, "serving on http://10.0.0.2:80/", "serve", www, "--stack", "addr=10.0.0.2/24,setup,run=network,offload=off,namespace=NAMESPACE")
	resp, err := s.peer.Get("http://10.0.0.2/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || string(page) != "a site on the stack" {
		t.Errorf("GET / of the site on the stack: got %q, error %v, want the site's page", page, err)
	}
	if out, wrong, code := s.weir(t, "", "ping", "-c", "1", "-W", "30", "10.0.0.1"); code != 0 {
		t.Errorf("ping 10.0.0.1: got exit status %d, want 0: %s%s", code, out, wrong)
	}
	s.stop(t)
	if _, err := os.Stat("/run/netns/" + s.space); err == nil {
		t.Errorf("namespace %s after the server stopped: got it, want it deleted: setup created it", s.space)
	}
}

func TestEachServerOfAFileAnswersOnAHostInUserSpace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.hcl")
	write(t, file, "server \"plain\" {\n listen = \":80\"\n redirect { to = \"http://10.0.0.2:8080{path}\" }\n}\nserver \"site\" {\n listen = \":8080\"\n text { text = \"on 8080\" }\n}\n")
	s := startOnStack(t, `server "site": serving on http://10.0.0.2:8080/`, "serve", file, "--stack", "addr=10.0.0.2/24,setup,namespace=NAMESPACE")
	resp, err := s.peer.Get("http://10.0.0.2/x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "on 8080" {
		t.Errorf("GET http://10.0.0.2/x, which redirects: got %q, error %v, want the page of the other server", body, err)
	}
	s.stop(t)
}

// A stack in user space has no descriptors for an event loop.
func TestAModelThatNeedsADescriptorIsRejectedOnAHostInUserSpace(t *testing.T) {
	for _, model := range []string{"loop", "coroutine", "prefork", "process"} {
		s := stackNamespace(t)
		out, err := exec.Command(binary(t), "serve", t.TempDir(), "--engine", "http1", "--model", model, "--stack", "addr=10.0.0.2/24,setup,namespace="+s).CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "leave --stack out") {
			t.Errorf("--model %s: got %v and %q, want exit status 2 and one line that asks to leave --stack out", model, err, out)
		}
		if _, err := os.Stat("/run/netns/" + s); err == nil {
			t.Errorf("--model %s: got the namespace %s, want none", model, s)
		}
	}
}
