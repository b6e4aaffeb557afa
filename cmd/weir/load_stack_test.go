package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/lab/workload/stack/stackload"
)

func TestLoadStackSaysWhatIsWrong(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, c := range []struct {
		change func(*stackLoadCmd)
		want   string
		usage  bool
	}{
		{func(*stackLoadCmd) {}, "nothing listens there", false},
		{func(c *stackLoadCmd) { c.Address = "localhost" }, "no IP address", true},
		{func(c *stackLoadCmd) { c.Flows = 3 }, "apply only to ping", true},
		{func(c *stackLoadCmd) { c.Congestion = "none-such" }, "no congestion control", true},
	} {
		l := stackLoadCmd{Operation: "rr", Address: "127.0.0.1", Port: 1, Connections: 1, Congestion: "reno", Timeout: time.Minute}
		c.change(&l)
		if err := l.Run(context.Background(), newTerminal(out, out)); err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, new(usageError)) != c.usage {
			t.Errorf("%+v: %v, want %q", l, err, c.want)
		}
	}
}

func TestLoadStackWritesItsReport(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan struct{})
	go func() { // until the generator has ended its connection
		defer close(served)
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			for one := make([]byte, 1); ; {
				if _, err := c.Read(one); err != nil {
					return
				}
				c.Write(one) //nolint:errcheck // the generator sees it
			}
		}
	}()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	second := time.Second
	c := stackLoadCmd{Operation: "rr", Address: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Connections: 1, Congestion: "reno", Timeout: time.Minute, loadFlags: loadFlags{Duration: &second, JSON: true}}
	if err := c.Run(context.Background(), newTerminal(out, out)); err != nil {
		t.Fatal(err)
	}
	<-served
	text, err := os.ReadFile(out.Name())
	var r stackload.Report
	if err != nil || json.Unmarshal(text, &r) != nil || r.Operation != "rr" || r.Messages == 0 || r.Congestion != "reno" {
		t.Errorf("load stack --json: got error %v, want a report of rr over reno with messages in:\n%s", err, text)
	}
}
