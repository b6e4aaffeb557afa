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

// room is where the tutorial of the host in user space is typed: a folder, and a network namespace
// for the device and this machine's side of it.
type room struct {
	dir, space string
	env        []string
	host       *exec.Cmd // the one that runs
	slow       *exec.Cmd // a command in another terminal
}

// TestAHostInUserSpace types what the tutorial says to type, and sees what it shows as output.
func TestAHostInUserSpace(t *testing.T) {
	if _, err := os.Stat("/dev/net/tun"); os.Getuid() != 0 || err != nil {
		t.Skipf("a TAP device in a network namespace needs root and /dev/net/tun (%v)", err)
	}
	for _, needed := range []string{"ip", "curl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("%s is missing", needed)
		}
	}
	dir, err := os.MkdirTemp("", "weir") // a short path, as a socket has to have
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &room{dir: dir, space: fmt.Sprintf("weirdocs%d", os.Getpid()), env: append(os.Environ(), "XDG_RUNTIME_DIR="+dir)}
	t.Cleanup(func() { r.end(t) })
	said := ""
	for _, b := range blocks(t, "host-in-user-space.md") {
		if b.kind == "text" {
			if said != b.text {
				t.Errorf("the tutorial shows\n%s\nand this came:\n%s", b.text, said)
			}
			continue
		}
		said = ""
		for line := range strings.Lines(b.text) {
			said += r.typed(t, strings.TrimSpace(line))
		}
	}
}

// typed does what a line says, and gives what it printed.
func (r *room) typed(t *testing.T, line string) string {
	t.Helper()
	line = strings.ReplaceAll(strings.ReplaceAll(line, "sudo ", ""), "./weir", theCommand(t))
	// a person needs time
	line = strings.NewReplacer("rate=1Mbit", "rate=5Mbit", "2000000", "400000", "ping -c 3", "ping -i 0.2 -c 3").Replace(line)
	line = strings.Replace(line, "ping -c 2 10", "ping -i 0.01 -W 0.05 -c 2 10", 1)
	first, _, _ := strings.Cut(line, " ")
	if _, err := exec.LookPath(first); err != nil {
		t.Logf("%s is missing: left out: %s", first, line)
		return ""
	}
	switch {
	case strings.Contains(line, " stack up "):
		return r.starts(t, line+" --namespace "+r.space, "try:")
	case strings.Contains(line, " serve "):
		said := r.starts(t, line+",namespace="+r.space, "serving on")
		if page := r.run(t, "curl -s --max-time 30 http://10.0.0.2/"); !strings.Contains(page, "Hello from user space") {
			t.Errorf("the site's page is %q", page)
		}
		return said
	case strings.HasPrefix(line, "curl -o"):
		r.slow = r.command(line)
		if err := r.slow.Start(); err != nil {
			t.Fatal(err)
		}
		r.await(t, "it began", func() bool { f, err := os.Stat(filepath.Join(r.dir, "data")); return err == nil && f.Size() > 0 })
		return ""
	case strings.HasPrefix(line, "cmp "):
		if err := r.slow.Wait(); err != nil {
			t.Errorf("the download over a bad link: %v", err)
		}
	case strings.HasPrefix(line, "tcpdump"):
		r.recorded(t, line)
		return ""
	}
	return r.run(t, line)
}

// command is a line that a shell in the room runs.
func (r *room) command(line string) *exec.Cmd {
	c := exec.Command("ip", "netns", "exec", r.space, "sh", "-c", line)
	if r.host == nil { // there is no room yet
		c = exec.Command("sh", "-c", line)
	}
	c.Dir, c.Env = r.dir, r.env
	return c
}

func (r *room) run(t *testing.T, line string) string {
	t.Helper()
	c := r.command(line)
	var wrong bytes.Buffer
	c.Stderr = &wrong
	out, err := c.Output()
	if err != nil && !bytes.Contains(out, []byte("100% lost")) { // which the tutorial wants to see
		t.Errorf("%s: %v\n%s%s", line, err, out, wrong.String())
	}
	return string(out)
}

// starts runs a host, in place of the one that runs, and gives what it says until it has said these
// words.
func (r *room) starts(t *testing.T, line, words string) (said string) {
	t.Helper()
	r.end(t)
	args := strings.Fields(line)
	r.host = exec.Command(args[0], args[1:]...)
	r.host.Dir, r.host.Env = r.dir, r.env
	stderr, err := r.host.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.host.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said += strings.ReplaceAll(lines.Text(), "ip netns exec "+r.space+" ", "") + "\n"
		if strings.Contains(lines.Text(), words) {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // until the host ends
			return said
		}
	}
	t.Fatalf("%s: it ended, and said %s", line, said)
	return ""
}

// end ends the host that runs, as Ctrl-C does, and sees that nothing is left of it.
func (r *room) end(t *testing.T) {
	if r.host == nil {
		return
	}
	r.host.Process.Signal(syscall.SIGINT) //nolint:errcheck // it may have ended: Wait tells
	if err := r.host.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if _, err := os.Stat("/run/netns/" + r.space); err == nil {
		t.Error("the namespace is left")
	}
	r.host = nil
}

// recorded reads the capture, until all is in it that the tutorial sees there.
func (r *room) recorded(t *testing.T, line string) {
	var out string
	r.await(t, "the capture holds what passed", func() bool {
		out = r.run(t, line)
		for _, seen := range []string{"ARP, Request who-has 10.0.0.2", "ICMP echo request", "Flags [S],", "Flags [S.],", "Flags [F.],"} {
			if !strings.Contains(out, seen) {
				return false
			}
		}
		return true
	})
}

func (r *room) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to be that %s", what)
		}
	}
}
