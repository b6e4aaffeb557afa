package web

import (
	"slices"
	"testing"
)

// TestAHandlerNamesWhatItKeepsInItsProcess, wherever in the composition that is.
func TestAHandlerNamesWhatItKeepsInItsProcess(t *testing.T) {
	counts := WithTraits(Pipe(func(*Conn) {}), Traits{Name: "counts", InProcess: "requests"})
	source := Source(func(c *Conn) Body { return String("x") })
	for name, c := range map[string]struct {
		composition Component
		want        []string
	}{
		"nothing":     {source, nil},
		"a pipe":      {Chain(counts, source), []string{"counts (requests)"}},
		"renamed":     {Chain(Named("mine", counts), source), []string{"mine (requests)"}},
		"in a branch": {Branch("b", func(*Conn) int { return 0 }, Chain(counts, source)), []string{"counts (requests)"}},
		"a branch":    {WithTraits(Branch("b", func(*Conn) int { return 0 }, source), Traits{InProcess: "choices"}), []string{"b (choices)"}},
	} {
		h, err := New(c.composition, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := h.InProcess(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		h.Close()
	}
}
