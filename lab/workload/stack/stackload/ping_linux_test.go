package stackload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/lab/load"
)

// mayPing reports whether this process may open a raw socket.
func mayPing(t *testing.T) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		t.Logf("no pings: cannot open a raw socket (%v)", err)
		return false
	}
	unix.Close(fd) //nolint:errcheck // nothing is lost
	return true
}

func pings() Config {
	return Config{Operation: Ping, Address: "127.0.0.1", Flows: 20, Rate: 2000, Timeout: time.Minute, Duration: 100 * time.Millisecond}
}

// TestEveryDuePingIsSent checks that every due ping is sent and answered, and has the kernel's time
// stamps.
func TestEveryDuePingIsSent(t *testing.T) {
	if !mayPing(t) {
		t.Skip("needs CAP_NET_RAW")
	}
	for name, change := range map[string]func(*Config){
		"evenly apart": func(*Config) {},
		"one flow":     func(c *Config) { c.Flows = 1 },
		"together":     func(c *Config) { c.Together = true },
		"in fragments": func(c *Config) { c.Size = 65_507 },
		"the smallest": func(c *Config) { c.Size = MinSize },
		"many flows":   func(c *Config) { c.Flows = 60_000 },
	} {
		t.Run(name, func(t *testing.T) {
			c := pings()
			change(&c)
			r := mustRun(t, c)
			if r.Offered != 200 || r.Messages != 200 || r.Lost != 0 || len(r.Errors) != 0 || r.Bytes != 400*int64(r.Size) || r.WindowNS != 100e6 {
				t.Errorf("got %+v, want 200 pings answered", r)
			}
			if r.LatencyUS.P50 <= 0 || r.LatencyUS.P50 > r.LatencyUS.Max || r.Unstamped != 0 || r.LatenessUS.Max <= 0 {
				t.Errorf("got impossible times, want a P50 above 0 and below the maximum, a lateness above 0 and all pings timestamped: %+v", r)
			}
		})
	}
}

func TestTooManyPingsUnderWayAreAnError(t *testing.T) {
	c := pings()
	c.Rate, c.Timeout = MaxRate, time.Minute
	if _, err := Run(t.Context(), c, load.Events{}); err == nil || !strings.Contains(err.Error(), "more than can be under way") {
		t.Errorf("got %v, want that it is more than can be under way", err)
	}
}

// ping puts a script named ping on the path.
func ping(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ping"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func processes3() Config {
	return Config{Operation: Ping, Address: "127.0.0.1", Processes: 3, Rate: 60, Timeout: time.Minute, Duration: 300 * time.Millisecond}
}

func TestPingsByTheSystemsPing(t *testing.T) {
	if _, err := exec.LookPath("ping"); err != nil {
		ping(t, `trap 'echo "9 packets transmitted, 8 received, 11% packet loss, time 1ms"; exit 0' INT
while :; do echo "64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.074 ms"; sleep 0.05; done`)
	}
	r := until(t, processes3(), mustRun, something)
	if r.Messages == 0 || len(r.Errors) != 0 || r.MeanUS <= 0 || r.ChildrenCPUNS <= 0 || r.Processes != 3 {
		t.Errorf("got %+v, want answered pings of 3 processes", r)
	}
}

func TestAFailingPingProcessIsReported(t *testing.T) {
	ping(t, "echo no such network >&2; exit 2")
	c := processes3()
	c.Duration = time.Hour // they end it
	r := mustRun(t, c)
	if r.Errors[kindPing] != 3 || !strings.Contains(r.Details[0], "exit status 2: no such network") {
		t.Errorf("got %+v, want 3 failed processes", r)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Run(t.Context(), processes3(), load.Events{}); err == nil || !strings.Contains(err.Error(), "there is no ping") {
		t.Errorf("got %v, want that there is no ping program", err)
	}
}

func TestLinesOfPingAreParsed(t *testing.T) {
	for line, want := range map[string]int64{
		"64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=0.074 ms": 74_000,
		"64 bytes from 10.77.0.2: icmp_seq=12 ttl=64 time=12 ms":   12_000_000,
		"64 bytes from 10.77.0.2: seq=0 ttl=64 time=0.100 ms":      100_000,
		"From 10.77.0.1 icmp_seq=1 Destination Host Unreachable":   -1,
		"64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=inf ms":   -1,
		"2 packets transmitted, 1 received, 50% loss, time 1001ms": -1,
	} {
		if got, ok := pingTime(line); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %d, %v, want %d", line, got, ok, want)
		}
	}
	for line, want := range map[string]int64{
		"3 packets transmitted, 1 received, 66% packet loss, time 2003ms":            2,
		"3 packets transmitted, 3 packets received, 0% packet loss":                  0,
		"3 packets transmitted, 4 received, +1 duplicates, 0% packet loss, time 1ms": 0,
		"PING 10.77.0.2 (10.77.0.2) 56(84) bytes of data.":                           -1,
	} {
		if got, ok := pingLoss(line); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %d, %v, want %d", line, got, ok, want)
		}
	}
}

// FuzzPingsLines checks that no output of a ping program is parsed as an impossible value.
func FuzzPingsLines(f *testing.F) {
	f.Add("64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=0.074 ms")
	f.Add("3 packets transmitted, 1 received, 66% packet loss, time 2003ms")
	f.Fuzz(func(t *testing.T, line string) {
		if took, ok := pingTime(line); took < 0 || !ok && took != 0 {
			t.Errorf("%q: got the time %d, %t; want none below 0, and 0 without a time", line, took, ok)
		}
		if lost, ok := pingLoss(line); lost < 0 || !ok && lost != 0 {
			t.Errorf("%q: got the loss %d, %t; want none below 0, and 0 without a loss", line, lost, ok)
		}
	})
}
