package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryDecisionIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile("adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := filepath.Glob("adr/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range decisions {
		if !strings.Contains(string(index), "("+filepath.Base(d)+")") {
			t.Errorf("adr/README.md: got no link to %s, want one to every decision", filepath.Base(d))
		}
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nStatus: ") {
			t.Errorf("%s: got no line \"Status: ... Date: ...\", want one", d)
		}
	}
}
