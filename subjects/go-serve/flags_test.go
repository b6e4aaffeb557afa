package main

import (
	"strings"
	"testing"
	"time"

	"weir/serve"
)

func TestParseReadsFlagsAndRejectsInvalidOnes(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // part of the error; empty: accepted
	}{
		{"--listen 127.0.0.1:7000", ""},
		{"--listen [::1]:7000 --workload echo --size 1 --work-us 5 --wait-ms 6 --way coroutine --loops 2", ""},
		{"", "HOST:PORT"},
		{"--listen 127.0.0.1", "HOST:PORT"},
		{"--listen 127.0.0.1:0", "1 to 65535"},
		{"--listen 127.0.0.1:http", "1 to 65535"},
		{"--listen 127.0.0.1:7000 --workload chat", "sink or echo"},
		{"--listen 127.0.0.1:7000 --size 0", "at least"},
		{"--listen 127.0.0.1:7000 --size ten", "size"},
		{"--listen 127.0.0.1:7000 --way fibre", "no concurrency model"},
		{"--listen 127.0.0.1:7000 --speed 9", "speed"},
		{"--listen 127.0.0.1:7000 now", "now"},
	} {
		_, err := parse(strings.Fields(c.line))
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, want one line with %q", c.line, err, c.want)
		}
	}
	c, err := parse(strings.Fields("--listen [::1]:7000 --workload echo --size 3 --work-us 5 --wait-ms 6 --way loop"))
	if err != nil || !c.echo || c.size != 3 || c.work != 5*time.Microsecond || c.wait != 6*time.Millisecond || c.way != serve.Loop {
		t.Errorf("got %+v (%v), want the values of the flags", c, err)
	}
}

// A message is counted at its last byte, however reads split it.
func TestHandledWaitsForEachMessageCompleted(t *testing.T) {
	j := &job{config: config{size: 10, wait: time.Millisecond}}
	var p progress
	for _, c := range []struct{ n, completed int }{{9, 0}, {1, 1}, {10, 1}, {25, 2}, {4, 0}, {1, 1}, {30, 3}} {
		if got := p.handled(c.n, j); got != time.Duration(c.completed)*time.Millisecond {
			t.Errorf("after %d bytes more: waits %v, want that of %d messages", c.n, got, c.completed)
		}
	}
}
