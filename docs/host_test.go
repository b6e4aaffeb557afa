package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sandbox is where the tutorial of the host in user space runs: a folder, and a network namespace
// for the device and this machine's side of it.
type sandbox struct {
	dir, namespace string
	env            []string
	host           *exec.Cmd // the running host, or nil
	download       *exec.Cmd // the command in the second terminal
}

// TestTheHostTutorialWorks runs the commands of the tutorial and compares their output with the
// tutorial's.
func TestTheHostTutorialWorks(t *testing.T) {
	if _, err := os.Stat("/dev/net/tun"); os.Getuid() != 0 || err != nil {
		t.Skipf("a TAP device in a network namespace needs root and /dev/net/tun (%v)", err)
	}
	for _, needed := range []string{"ip", "curl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("%s is missing", needed)
		}
	}
	// a short path, because a socket's path is limited to 107 bytes
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &sandbox{dir: dir, namespace: fmt.Sprintf("weirdocs%d", os.Getpid()), env: append(os.Environ(), "XDG_RUNTIME_DIR="+dir)}
	t.Cleanup(func() { s.stopHost(t) })
	output := ""
	for _, b := range blocks(t, "host-in-user-space.md") {
		if b.kind == "text" {
			if output != b.text {
				t.Errorf("got the output\n%s\nwant, as the tutorial shows,\n%s", output, b.text)
			}
			continue
		}
		output = ""
		for line := range strings.Lines(b.text) {
			output += s.typeLine(t, strings.TrimSpace(line))
		}
	}
}

// typeLine runs a line of the tutorial and returns its output.
func (s *sandbox) typeLine(t *testing.T, line string) string {
	t.Helper()
	line = strings.ReplaceAll(strings.ReplaceAll(line, "sudo ", ""), "./weir", weirBinary(t))
	// the tutorial's values leave a reader time to type: shorten them
	line = strings.NewReplacer("rate=1Mbit", "rate=5Mbit", "2000000", "400000", "ping -c 3", "ping -i 0.2 -c 3").Replace(line)
	line = strings.Replace(line, "ping -c 2 10", "ping -i 0.5 -W 0.1 -c 2 10", 1)
	first, _, _ := strings.Cut(line, " ")
	if _, err := exec.LookPath(first); err != nil {
		t.Logf("%s is missing: skipped: %s", first, line)
		return ""
	}
	switch {
	case strings.Contains(line, " stack up "):
		return s.startHost(t, line+" --namespace "+s.namespace, "try:")
	case strings.Contains(line, " serve "):
		output := s.startHost(t, line+",namespace="+s.namespace, "serving on")
		if page := s.run(t, "curl -s --max-time 30 http://10.0.0.2/"); !strings.Contains(page, "Hello from user space") {
			t.Errorf("got the page %q, want Hello from user space", page)
		}
		return output
	case strings.HasPrefix(line, "curl -o"):
		s.download = s.command(line)
		if err := s.download.Start(); err != nil {
			t.Fatal(err)
		}
		s.await(t, "the download has started", func() bool { f, err := os.Stat(filepath.Join(s.dir, "data")); return err == nil && f.Size() > 0 })
		return ""
	case strings.HasPrefix(line, "cmp "):
		if err := s.download.Wait(); err != nil {
			t.Errorf("the download over a bad link: got %v, want it to complete", err)
		}
	case strings.HasPrefix(line, "tcpdump"):
		s.awaitCapture(t, line)
		return ""
	}
	return s.run(t, line)
}

// command returns the command that runs a line by a shell in the namespace.
func (s *sandbox) command(line string) *exec.Cmd {
	c := exec.Command("ip", "netns", "exec", s.namespace, "sh", "-c", line)
	if s.host == nil { // there is no namespace yet
		c = exec.Command("sh", "-c", line)
	}
	c.Dir, c.Env = s.dir, s.env
	return c
}

// run runs a line to its end and returns its output.
func (s *sandbox) run(t *testing.T, line string) string {
	t.Helper()
	c := s.command(line)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	// the tutorial expects this failure
	if err != nil && !bytes.Contains(out, []byte("100% lost")) {
		t.Errorf("%s: got %v, want exit status 0\n%s%s", line, err, out, stderr.String())
	}
	return string(out)
}

// startHost stops the running host, starts another, and returns its output until a line that
// contains text.
func (s *sandbox) startHost(t *testing.T, line, text string) (output string) {
	t.Helper()
	s.stopHost(t)
	args := strings.Fields(line)
	s.host = exec.Command(args[0], args[1:]...)
	s.host.Dir, s.host.Env = s.dir, s.env
	stderr, err := s.host.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.host.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		output += strings.ReplaceAll(lines.Text(), "ip netns exec "+s.namespace+" ", "") + "\n"
		if strings.Contains(lines.Text(), text) {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // until the host ends
			return output
		}
	}
	t.Fatalf("%s: want %q in its output, got to the end of it:\n%s", line, text, output)
	return ""
}

// stopHost stops the running host as Ctrl-C does, and checks that its namespace is removed.
func (s *sandbox) stopHost(t *testing.T) {
	if s.host == nil {
		return
	}
	s.host.Process.Signal(syscall.SIGINT) //nolint:errcheck // if it has ended, Wait reports that
	if err := s.host.Wait(); err != nil {
		t.Errorf("after Ctrl-C the host exits with %v, want status 0", err)
	}
	if _, err := os.Stat("/run/netns/" + s.namespace); err == nil {
		t.Errorf("after Ctrl-C: got the namespace %s, want it removed", s.namespace)
	}
	s.host = nil
}

// awaitCapture reads the capture until it has all packets that the tutorial names.
func (s *sandbox) awaitCapture(t *testing.T, line string) {
	var out string
	s.await(t, "the capture has all packets that the tutorial names", func() bool {
		out = s.run(t, line)
		for _, packet := range []string{"ARP, Request who-has 10.0.0.2", "ICMP echo request", "Flags [S],", "Flags [S.],", "Flags [F.],"} {
			if !strings.Contains(out, packet) {
				return false
			}
		}
		return true
	})
}

// await waits until a condition is true, at most a minute.
func (s *sandbox) await(t *testing.T, condition string, isTrue func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !isTrue(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("want that %s; it was false for a minute", condition)
		}
	}
}
