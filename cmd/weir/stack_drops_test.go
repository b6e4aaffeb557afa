package main

import "testing"

// The table of drops fits 80 columns: a name of 8, 8 digits, and the meaning.
func TestMeaningsOfDropsFitATerminal(t *testing.T) {
	for reason, meant := range dropMeanings {
		if len(meant) > 60 {
			t.Errorf("%s: got %d columns, want at most 60: %q", reason, len(meant), meant)
		}
	}
}
