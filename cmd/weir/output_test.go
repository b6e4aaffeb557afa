package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAnOutputThatIsNoRegularFileStaysWhatItIs has a pipe in place of /dev/stdout and /dev/null. A
// rename over these by root would break the machine.
func TestAnOutputThatIsNoRegularFileStaysWhatItIs(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // a writer does not wait then
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link} {
		if err := writeOutput(path, []byte("text")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10)
		if n, err := reader.Read(got); err != nil || string(got[:n]) != "text" {
			t.Errorf("%s: got %q (%v) through the pipe, want the text", path, got[:n], err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("%s: got %v (%v), want a pipe still", path, info, err)
		}
	}
}

func TestAnOutputBehindALinkIsReplacedThere(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := writeOutput(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "new" {
		t.Errorf("got %q (%v) in the file, want the new text", got, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("got %q (%v), want the link to the file", to, err)
	}
}

func TestOutputsThatCannotBeWrittenAreFoundBefore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                             "it is a folder",
		filepath.Join(dir, "none", "x"): "there is no folder",
		filepath.Join(dir, "file", "x"): "is no folder",
		filepath.Join(dir, "x"):         "",
		filepath.Join(dir, "file"):      "",
		"/dev/stdout":                   "",
	} {
		err := checkOutputs("", path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// TestErrorsDoNotControlTheTerminal: they quote what servers and tools said.
func TestErrorsDoNotControlTheTerminal(t *testing.T) {
	var out strings.Builder
	writeLines(&out, "saw \"404 \x1b]0;title\a\x1b[31m\u202e\": \u00e4\tb\nnext")
	if got, want := out.String(), "weir: saw \"404 \ufffd]0;title\ufffd\ufffd[31m\ufffd\": \u00e4\tb\nweir: next\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
