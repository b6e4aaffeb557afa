package main

import (
	"strings"
	"testing"
)

func TestTablesAlignAndFitTheWidth(t *testing.T) {
	columns := []column{{"NAME", false}, {"SIZE", true}, {"STATE", false}}
	rows := [][]string{{"a", "1", "ready"}, {"größer", "12345", "missing: a compiler that is rare"}}
	tests := []struct {
		width int
		want  string
	}{
		{0, "NAME     SIZE  STATE\na           1  ready\ngrößer  12345  missing: a compiler that is rare\n"},
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
