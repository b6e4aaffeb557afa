package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/lab/sample"
)

// runMeasure runs the command with its output in files, and returns what it printed.
func runMeasure(t *testing.T, c measureCmd) (out, progress string, err error) {
	t.Helper()
	g, groupErr := sample.NewGroup("works")
	if groupErr != nil {
		t.Skip(groupErr)
	}
	g.Close()
	var files [2]*os.File
	for i, name := range []string{"out", "err"} {
		if files[i], err = os.Create(filepath.Join(t.TempDir(), name)); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	err = c.Run(context.Background(), newTerminal(files[0], files[1]))
	text := func(f *os.File) string { b, _ := os.ReadFile(f.Name()); return string(b) }
	return text(files[0]), text(files[1]), err
}

func TestMeasurePrintsJSONApartFromTheCommandsOutput(t *testing.T) {
	out, progress, err := runMeasure(t, measureCmd{JSON: true, Command: []string{"--", "sh", "-c", "echo hello; exit 3"}})
	var m measurement
	if jsonErr := json.Unmarshal([]byte(out), &m); jsonErr != nil {
		t.Fatalf("measure --json: got error %v, want only JSON on standard output, got %q", jsonErr, out)
	}
	if m.CPUNS <= 0 || m.WallNS <= 0 || m.ExitCode != 3 || !m.ByItself || m.Method == "" {
		t.Errorf("measure --json: got %+v, want CPU and wall time, exit status 3, by itself, and a method", m)
	}
	if progress != "hello\n" {
		t.Errorf("the command's output: got %q on standard error, want %q", progress, "hello\n")
	}
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("measure of a command that exits with 3: got error %v, want one with its exit status", err)
	}
}

func TestMeasureNamesItsAccountingMethod(t *testing.T) {
	out, _, err := runMeasure(t, measureCmd{Methods: true, Command: []string{"sh", "-c", "echo hello"}})
	if err != nil {
		t.Errorf("measure --methods: got error %v, want none", err)
	}
	for _, want := range []string{"hello\n", "CPU", "counted by", "first 18 rows", "by itself with exit status 0"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

func TestMeasureRefusesWhatItCannotRun(t *testing.T) {
	for _, c := range []measureCmd{{}, {Command: []string{"--"}}, {Command: []string{"/nonexistent"}}, {Command: []string{"sh"}, Duration: -1}} {
		_, _, err := runMeasure(t, c)
		var u usageError
		if !errors.As(err, &u) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: got error %v, want a usage error of one line", c, err)
		}
	}
}
