package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/profile"
)

func TestTheFolderOfAProfileIsMadeBeforeItsTrials(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	writeFile(t, file, "")
	if _, err := (&profileCmd{Out: filepath.Join(file, "why")}).makeOut(); err == nil || !strings.Contains(err.Error(), "name another with --out") {
		t.Errorf("below a file: got error %v, want one with --out", err)
	}
	for out, left := range map[string]bool{filepath.Join(dir, "new"): false, t.TempDir(): true} {
		discard, err := (&profileCmd{Out: out}).makeOut()
		if err != nil {
			t.Fatal(err)
		}
		discard()
		if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) == left {
			t.Errorf("%s after a failure: got error %v, want it left: %v", out, err, left)
		}
	}
}

// TestAProfileThatCannotBeWrittenIsPrinted: its trials would have to be run again.
func TestAProfileThatCannotBeWrittenIsPrinted(t *testing.T) {
	dir := t.TempDir()
	file, printed := filepath.Join(dir, "file"), filepath.Join(dir, "printed")
	writeFile(t, file, "")
	out, err := os.Create(printed)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	d := &profile.Difference{A: profile.Side{Subject: "one"}, B: profile.Side{Subject: "other"}}
	if err := (&profileCmd{Out: file}).write(newTerminal(out, out), d); err == nil {
		t.Error("into a file: got no error, want one")
	}
	if text, err := os.ReadFile(printed); err != nil || !strings.Contains(string(text), "How one and other differ") || strings.Contains(string(text), "flame graphs") {
		t.Errorf("got %q (error %v), want the table, and no path", text, err)
	}
}

func TestAProfileOfARunIsRefusedBeforeItsTrials(t *testing.T) {
	for _, names := range [][]string{{"one"}, {"one", "one"}, {"one", "two", "three"}} {
		if err := (&runCmd{Profile: names}).refuseProfile(); err == nil || !isUsage(err) {
			t.Errorf("%q: got error %v, want one of the command line", names, err)
		}
	}
	if err := (&runCmd{Profile: []string{"one", "two"}}).refuseProfile(); (err == nil) != (profile.Check() == nil) {
		t.Errorf("two subjects: got error %v, want that of a machine without permission to sample", err)
	}
}
