package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The contract tests the program's behaviour, as that of the other subjects.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // part of the error; empty: accepted
	}{
		{"--listen 127.0.0.1:7000", ""},
		{"--listen [::1]:7000 --workload echo --size 1 --work-us 5 --wait-ms 6", ""},
		{"", "HOST:PORT"},
		{"--listen 127.0.0.1:0", "1 to 65535"},
		{"--listen 127.0.0.1:http", "1 to 65535"},
		{"--listen 127.0.0.1:7000 --workload chat", "sink or echo"},
		{"--listen 127.0.0.1:7000 --size 0", "at least"},
		{"--listen 127.0.0.1:7000 --speed 9", "speed"},
		{"--listen 127.0.0.1:7000 now", "now"},
	} {
		_, err := parse(strings.Fields(c.line))
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, want one line with %q", c.line, err, c.want)
		}
	}
}
