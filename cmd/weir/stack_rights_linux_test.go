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

// rights are what all threads of a process may do: each line of their status that says so, once.
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
			continue // it has ended
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") {
				all[strings.Join(strings.Fields(line), " ")] = true
			}
		}
	}
	return all
}

// givesPage fails when the host's page is not to be had.
func givesPage(t *testing.T, s *onStack) {
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

// A process that runs a host has no effective capability on any thread once the host is up. It
// keeps only those permitted that undo --setup. Everything that --setup created is gone at the end.
func TestAHostRunsWithoutCapabilities(t *testing.T) {
	www := t.TempDir()
	write(t, filepath.Join(www, "page.html"), "a page of the host's")
	const none, netAdmin, andSysAdmin = "0000000000000000", "0000000000001000", "0000000000201000"
	for name, c := range map[string]struct {
		words     string
		args      []string
		permitted string
	}{
		"stack up with --setup and a namespace": {"metrics on", []string{"stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", "NAMESPACE", "--service", "files=80:" + www, "--metrics", "127.0.0.1:0"}, andSysAdmin},
		"serve --stack":                         {"serving on", []string{"serve", www, "--stack", "addr=10.0.0.2/24,setup,namespace=NAMESPACE"}, andSysAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			s := startOnStack(t, c.words, c.args...)
			givesPage(t, s)
			got := rights(t, s.Process.Pid)
			for _, want := range []string{"CapEff: " + none, "CapPrm: " + c.permitted, "CapInh: " + none, "CapBnd: " + none, "CapAmb: " + none, "NoNewPrivs: 1"} {
				if !got[want] || len(got) != 6 {
					t.Errorf("its threads have %v, want %s on all", got, want)
				}
			}
			s.stop(t)
			if _, err := os.Stat("/run/netns/" + s.space); err == nil {
				t.Errorf("namespace %s after the host stopped: got it, want it deleted: setup created it", s.space)
			}
		})
	}
	t.Run("stack up on a device that is there", func(t *testing.T) {
		space := stackNamespace(t)
		ip := func(args ...string) {
			if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
				t.Fatalf("ip %v: %s (%v)", args, out, err)
			}
		}
		ip("netns", "add", space)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", space).Run() }) //nolint:errcheck // it is there
		ip("-n", space, "tuntap", "add", "weir0", "mode", "tap")
		ip("-n", space, "addr", "add", "10.0.0.1/24", "dev", "weir0")
		ip("-n", space, "link", "set", "weir0", "up")
		s := startIn(t, space, "metrics on", "stack", "up", "--addr", "10.0.0.2/24", "--namespace", space, "--service", "files=80:"+www, "--metrics", "127.0.0.1:0")
		givesPage(t, s)
		got := rights(t, s.Process.Pid)
		for _, want := range []string{"CapEff: " + none, "CapPrm: " + none, "CapInh: " + none, "CapBnd: " + none, "CapAmb: " + none, "NoNewPrivs: 1"} {
			if !got[want] || len(got) != 6 {
				t.Errorf("its threads have %v, want %s on all", got, want)
			}
		}
		s.stop(t)
	})
}

// A host whose device is all that --setup made keeps no capability at all. The device ends with it,
// also when it is killed.
func TestAHostWhoseDeviceIsTransientKeepsNoCapability(t *testing.T) {
	www := t.TempDir()
	write(t, filepath.Join(www, "page.html"), "a page of the host's")
	const none = "0000000000000000"
	space := stackNamespace(t)
	if out, err := exec.Command("ip", "netns", "add", space).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %s (%v)", out, err)
	}
	t.Cleanup(func() { exec.Command("ip", "netns", "del", space).Run() }) //nolint:errcheck // it is there
	for _, killed := range []bool{false, true} {
		s := startIn(t, space, "metrics on", "stack", "up", "--addr", "10.0.0.2/24", "--setup", "--namespace", space, "--service", "files=80:"+www, "--metrics", "127.0.0.1:0")
		givesPage(t, s)
		if got := rights(t, s.Process.Pid); !got["CapPrm: "+none] || !got["CapEff: "+none] || len(got) != 6 {
			t.Errorf("its threads have %v, want no capability, permitted or in effect", got)
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
