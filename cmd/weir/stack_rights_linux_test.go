package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rights returns the set of Cap and NoNewPrivs lines in the status of all threads of a process. A
// thread has six of them. If the set has six lines, all threads have the same rights.
func rights(t *testing.T, pid int) map[string]bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("/proc/%d/task: got %d threads, error %v, want at least 2", pid, len(threads), err)
	}
	all := map[string]bool{}
	for _, file := range threads {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") {
				all[strings.Join(strings.Fields(line), " ")] = true
			}
		}
	}
	return all
}

// getHostPage gets a page from the host, which here is the user-space stack, and fails unless it is
// the host's.
func getHostPage(t *testing.T, s *onStack) {
	t.Helper()
	resp, err := s.peer.Get("http://10.0.0.2/page.html")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || string(page) != "a page of the host's" {
		t.Errorf("GET /page.html: got %q, error %v, want the host's page", page, err)
	}
}

// A process that runs a host (a user-space stack) has no effective capability on any thread once
// the host is up. Its permitted set has only the capabilities that undo --setup. At the end,
// everything that --setup created is removed.
func TestAHostRunsWithoutCapabilities(t *testing.T) {
	www := t.TempDir()
	write(t, filepath.Join(www, "page.html"), "a page of the host's")
	const none, netAndSysAdmin = "0000000000000000", "0000000000201000"
	for name, c := range map[string]struct {
		readyText string   // its output once it is up
		args      []string // startOnStack replaces NAMESPACE
		permitted string   // CapPrm
	}{
		"stack up with --setup and a namespace": {"metrics on", []string{"stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", "NAMESPACE", "--service", "files=80:" + www, "--metrics", "127.0.0.1:0"}, netAndSysAdmin},
		"serve --stack":                         {"serving on", []string{"serve", www, "--stack", "addr=10.0.0.2/24,setup,namespace=NAMESPACE"}, netAndSysAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			s := startOnStack(t, c.readyText, c.args...)
			getHostPage(t, s)
			got := rights(t, s.Process.Pid)
			for _, want := range []string{"CapEff: " + none, "CapPrm: " + c.permitted, "CapInh: " + none, "CapBnd: " + none, "CapAmb: " + none, "NoNewPrivs: 1"} {
				if !got[want] || len(got) != 6 {
					t.Errorf("the threads have %v, want %s and no other value on all", got, want)
				}
			}
			s.stop(t)
			if _, err := os.Stat("/run/netns/" + s.space); err == nil {
				t.Errorf("namespace %s after the host stopped: got it, want it deleted: setup created it", s.space)
			}
		})
	}
	t.Run("stack up on an existing device", func(t *testing.T) {
		space := stackNamespace(t)
		ip := func(args ...string) {
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				t.Fatalf("ip %v: %s (%v)", args, out, err)
			}
		}
		ip("netns", "add", space)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", space).Run() }) //nolint:errcheck // it exists
		ip("-n", space, "tuntap", "add", "weir0", "mode", "tap")
		ip("-n", space, "addr", "add", "10.0.0.1/24", "dev", "weir0")
		ip("-n", space, "link", "set", "weir0", "up")
		s := startIn(t, space, "metrics on", "stack", "up", "--addr", "10.0.0.2/24", "--namespace", space, "--service", "files=80:"+www, "--metrics", "127.0.0.1:0")
		getHostPage(t, s)
		got := rights(t, s.Process.Pid)
		for _, want := range []string{"CapEff: " + none, "CapPrm: " + none, "CapInh: " + none, "CapBnd: " + none, "CapAmb: " + none, "NoNewPrivs: 1"} {
			if !got[want] || len(got) != 6 {
				t.Errorf("the threads have %v, want %s and no other value on all", got, want)
			}
		}
		s.stop(t)
	})
}

// If --setup created only the device, the host keeps no capability: the kernel removes the device
// at the end of the process, also when it is killed.
func TestAHostWhoseDeviceIsTransientKeepsNoCapability(t *testing.T) {
	www := t.TempDir()
	write(t, filepath.Join(www, "page.html"), "a page of the host's")
	const none = "0000000000000000"
	space := stackNamespace(t)
	if out, err := exec.Command("ip", "netns", "add", space).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %s (%v)", out, err)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", space).Run() }) //nolint:errcheck // it exists
	for _, killed := range []bool{false, true} {
		s := startIn(t, space, "metrics on", "stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", space, "--service", "files=80:"+www, "--metrics", "127.0.0.1:0")
		getHostPage(t, s)
		if got := rights(t, s.Process.Pid); !got["CapPrm: "+none] || !got["CapEff: "+none] || len(got) != 6 {
			t.Errorf("killed %t: the threads have %v, want no capability, permitted or effective, on any", killed, got)
		}
		if killed {
			s.Process.Kill() //nolint:errcheck // it runs
			s.Wait()         //nolint:errcheck // it was killed
		} else {
			s.stop(t)
		}
		if out, err := exec.Command("ip", "-n", space, "link", "show", "weir0").CombinedOutput(); err == nil {
			t.Errorf("after the host ended (killed: %t): got the device, want it gone: %s", killed, out)
		}
	}
}
