package stackload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"weir/tcpip"
	"weir/tcpip/link"
)

// host runs Weir's stack with the services on a TAP device in a new namespace, until the end of the
// test. It returns the namespace and the link.
func host(t *testing.T) (string, *link.Impaired) {
	t.Helper()
	space := fmt.Sprintf("load-stack-%d", os.Getpid())
	undo, err := link.Setup(link.SetupConfig{Tap: "weir0", Namespace: space, Addrs: []netip.Prefix{netip.MustParsePrefix("10.77.0.1/24")}})
	if err != nil {
		t.Skipf("no TAP device here: %v", err)
	}
	t.Cleanup(func() {
		if err := undo(); err != nil {
			t.Error(err)
		}
	})
	tap, err := link.OpenTap(link.TapConfig{Name: "weir0", Namespace: space})
	if err != nil {
		t.Fatal(err)
	}
	wire, err := link.Impair(tap, link.ImpairConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tcpip.New(tcpip.Config{Link: wire, Addrs: []netip.Prefix{netip.MustParsePrefix("10.77.0.2/24")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for port, handle := range map[int]session{7: echo, 9: discard, 19: source} {
		l, err := s.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, l, handle)
	}
	return space, wire
}

// inside runs a generator in the namespace.
func inside(t *testing.T, space string, c Config) (r Report) {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
	cmd.Env = append(os.Environ(), generatorConfig+"="+string(config), "GORACE=atexit_sleep_ms=0")
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out // one buffer, for the failure message of the test
	started := make(chan error)
	go func() { // its thread ends with it, because it stays locked
		runtime.LockOSThread()
		to, err := netns.GetFromName(space)
		if err == nil {
			err = netns.Set(to)
			to.Close()
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: got error %v, want none: %s", c.Operation, err, out)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%s: parsing the report: got error %v, want none: %s", c.Operation, err, out)
	}
	return r
}

func TestWeirsStackOnATAP(t *testing.T) {
	space, wire := host(t)
	generator := func(t *testing.T, c Config) Report { return inside(t, space, c) }
	for _, operation := range Operations {
		c := Config{Operation: operation, Address: "10.77.0.2", Duration: 100 * time.Millisecond, Timeout: time.Minute, Connections: 3}
		if operation == Ping {
			c.Flows, c.Rate = 10, 500
		}
		r := until(t, c, generator, something)
		if r.Messages == 0 || len(r.Errors) != 0 || r.Lost != 0 || r.Unstamped != 0 || r.Interrupt || operation == In && r.Confirmed != 3 {
			t.Errorf("%s: got %+v, want messages without errors", operation, r)
		}
	}
	absent := Config{Operation: Ping, Address: "10.77.0.3", Flows: 5, Rate: 50, Duration: 100 * time.Millisecond, Timeout: 200 * time.Millisecond}
	if r := inside(t, space, absent); r.Offered != 5 || r.Messages != 0 || r.Lost != 5 {
		t.Errorf("pings to an address without a host: got %+v, want 5 lost", r)
	}
	if err := wire.Set(link.ImpairConfig{In: link.Impairment{Loss: 0.2}, Out: link.Impairment{Duplicate: 0.5}}); err != nil {
		t.Fatal(err)
	}
	lossy := Config{Operation: Ping, Address: "10.77.0.2", Flows: 5, Rate: 1000, Duration: 200 * time.Millisecond, Timeout: 500 * time.Millisecond}
	if r := inside(t, space, lossy); r.Offered != 200 || r.Lost == 0 || r.Messages+r.Lost != 200 || r.Errors[kindTwice] == 0 {
		t.Errorf("pings over a link that loses and duplicates: got %+v, want losses and second replies", r)
	}
	if err := wire.Set(link.ImpairConfig{In: link.Impairment{Loss: 0.01}}); err != nil {
		t.Fatal(err)
	}
	bulk := Config{Operation: In, Address: "10.77.0.2", Connections: 2, Duration: 100 * time.Millisecond, Timeout: time.Minute}
	if r := until(t, bulk, generator, func(r Report) bool { return r.Retransmitted > 0 }); r.Retransmitted == 0 || r.Confirmed != 2 || len(r.Errors) != 0 {
		t.Errorf("bulk data over a lossy link: got %+v, want retransmissions and all data confirmed", r)
	}
}
