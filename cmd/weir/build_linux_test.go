package main

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"testing"
)

// The program that docs/chat-for-real.md installs is one file: it needs for no interpreter and no
// library, which is what ldd calls "not a dynamic executable".
func TestTheBinaryThatMakeBuildsNeedsNoOtherFile(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed: scripts/setup test installs it")
	}
	binary := filepath.Join(t.TempDir(), "weir")
	if out, err := exec.Command("make", "-s", "-C", "../..", "build", "BINARY="+binary).CombinedOutput(); err != nil {
		t.Fatalf("make build: got %v, want it to succeed:\n%s", err, out)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("got a program header %v, want a static executable", p.Type)
		}
	}
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		t.Errorf("it needs %v, want no library", libraries)
	}
	if out, err := exec.Command(binary, "--help").CombinedOutput(); err != nil {
		t.Errorf("weir --help with the built binary: got %v, want exit status 0:\n%s", err, out)
	}
}
