package main

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	c, err := parse(strings.Fields("--way raw --listen [::1]:80 --workload page --www /w --sleep-ms 20 --sleep-every 10"))
	want := config{way: "raw", listen: "[::1]:80", www: "/w", sleep: 20 * time.Millisecond, every: 10}
	if err != nil || c != want {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "--listen 127.0.0.1:80 --workload page --www /w "
	for args, want := range map[string]string{
		good + "more":                        `unexpected argument "more"`,
		good + "--more 1":                    "more",
		good + "--way wrong":                 "--way must be",
		good + "--way fileserver":            `--workload must be files, not "page"`,
		good + "--workload sink":             `--workload must be page, not "sink"`,
		good + "--www=":                      "--www DIR is missing",
		good + "--sleep-ms -1":               "at least 0",
		good + "--gzip 2":                    "--gzip 0 or 1",
		good + "--listen 127.0.0.1:70000":    "a port from 1 to 65535",
		"--listen x --workload page --www w": "--listen must be HOST:PORT",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
