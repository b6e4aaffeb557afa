package main

import (
	"strings"
	"testing"
)

func TestTablesAlignAndFitTheWidth(t *testing.T) {
	columns := []column{{"NAME", false}, {"SIZE", true}, {"STATE", false}}
	rows := [][]string{{"a", "1", "ready"}, {"größer", "12345", "missing: a compiler that nobody has"}}
	tests := []struct {
		width int
		want  string
	}{
		{0, "NAME     SIZE  STATE\na           1  ready\ngrößer  12345  missing: a compiler that nobody has\n"},
		{30, "NAME     SIZE  STATE\na           1  ready\ngrößer  12345  missing: a com…\n"},
		{5, "NAME     SIZE  STATE\na           1  ready\ngrößer  12345  missing: a …\n"},
	}
	for _, tt := range tests {
		var out strings.Builder
		writeTable(&out, columns, rows, tt.width, nil)
		if out.String() != tt.want {
			t.Errorf("width %d:\n%swant:\n%s", tt.width, out.String(), tt.want)
		}
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "-", 1: "0 KiB", 22_000: "21 KiB", 1 << 20: "1.0 MiB", 2_700_000: "2.6 MiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
