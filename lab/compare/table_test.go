package compare

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestWriteRunsMatchesTheGoldenFile(t *testing.T) {
	a, b := makeResults(1, 6), scaled(makeResults(2, 6), "b", 1.3)
	a.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b.Started = a.Started.Add(24 * time.Hour)
	b.Finished = b.Started.Add(time.Hour)
	found, err := messages.Runs(a, b, "")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := messages.WriteRuns(&got, "runs/friday", "runs/saturday", a, b, found); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/runs.txt", got.Bytes())
	if err := messages.WriteRuns(full{}, "", "", a, b, found); err == nil {
		t.Error("full disk: got no error, want one")
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant what the file has (go test ./lab/compare -update writes it)", file, got)
	}
}
