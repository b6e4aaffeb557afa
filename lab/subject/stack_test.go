package subject

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const leastStack = `name = "x"
language = "C"
paradigm = "one thread"
workloads = ["stack"]
run = ["{out}/x", "{tap}", "{net}", "{mtu}", "{cores}"]
inside = ["{out}/x", "{operation}", "{connections}", "{duration}", "{cores}"]
ready = "line: ready"
`

func TestStackCommandHasDeviceAndAddress(t *testing.T) {
	s, err := Read(write(t, filepath.Join(t.TempDir(), fileName), leastStack))
	if err != nil {
		t.Fatal(err)
	}
	if s.Network != "tap" {
		t.Errorf("got %+v, want a stack with the network tap", s)
	}
	run := s.Command(Params{Host: "10.77.0.2", Port: 7, Workload: "stack", Tap: "tap0", Net: "10.77.0.2/24", Cores: 2})
	if want := []string{s.Out + "/x", "tap0", "10.77.0.2/24", "1500", "2"}; !slices.Equal(run, want) {
		t.Errorf("got run command %q, want %q", run, want)
	}
	inside := s.InsideCommand(Inside{Operation: "rr", Connections: 10, Duration: 1500 * time.Millisecond, Cores: 1})
	if want := []string{s.Out + "/x", "rr", "10", "1.5s", "1"}; !slices.Equal(inside, want) {
		t.Errorf("got inside command %q, want %q", inside, want)
	}
}

func TestReadRejectsInvalidStacks(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{`["stack"]`, `["stack", "echo"]`, "workloads: a TCP/IP stack is no server"},
		{`"{tap}", `, ``, "run: holds no {tap}"},
		{`"{net}", `, ``, "run: holds neither {net} nor {host}"},
		{`"line: ready"`, `"listen"`, `ready: "listen" cannot be seen of a stack`},
		{`ready =`, "network = \"slip\"\nready =", `network: "slip" is neither tap nor veth`},
		{`"{operation}"`, `"{net}"`, "inside: unknown placeholder {net}"},
		{`["stack"]`, `["sink"]`, "inside: only a TCP/IP stack"},
	} {
		file := write(t, filepath.Join(t.TempDir(), fileName), strings.ReplaceAll(leastStack, test.from, test.to))
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s instead of %s: got error %v, want %q", test.to, test.from, err, test.want)
		}
	}
}
