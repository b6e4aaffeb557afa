package profile_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/lab"
	"weir/lab/profile"
	"weir/lab/workload"
	"weir/lab/workload/stream"

	"golang.org/x/sys/unix"
)

// The promise of a differential profile: its first three rows name the cause that was planted. All
// causes are planted if WEIR_PLANTED_CAUSES is "all", else only the hash.
func TestTheFirstThreeRowsNameThePlantedCause(t *testing.T) {
	bench := newBench(t)
	for _, planted := range []struct {
		variant string
		rate    float64 // messages per second on each of 8 connections
		cause   string  // the start of a row's name
	}{
		{"hash", 1000, "crypto/internal/fips140/sha256.block"},
		{"allocate", 1000, "runtime.mallocgc"},
		{"fsync", 20, "fsync(2)"},
	} {
		t.Run(planted.variant, func(t *testing.T) {
			if planted.variant != "hash" && os.Getenv("WEIR_PLANTED_CAUSES") != "all" {
				t.Skip("WEIR_PLANTED_CAUSES=all plants this one too")
			}
			if planted.variant == "fsync" && inMemory(diskDir) {
				t.Skip(diskDir + " is in memory, where fsync costs nothing")
			}
			d := bench.profile(t, "plain", planted.variant, planted.rate)
			var text strings.Builder
			if err := d.WriteText(&text, 8, 120); err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + text.String())
			for _, r := range d.Rows[:min(3, len(d.Rows))] {
				if strings.HasPrefix(r.Name, planted.cause) {
					if r.Low <= 0 {
						t.Errorf("got %+v, want an interval over 0", r)
					}
					return
				}
			}
			t.Errorf("got no row %s among the first three", planted.cause)
		})
	}
}

// diskDir is where the server writes the file that it syncs. The folder of temporary files may be
// in memory.
const diskDir = "/var/tmp"

// inMemory reports whether a folder is on a tmpfs.
func inMemory(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.TMPFS_MAGIC
}

// bench is a project with a subject for each variant of testdata/server.
type bench struct{ root, weir string }

func newBench(t *testing.T) *bench {
	root := t.TempDir()
	b := &bench{root, filepath.Join(root, "weir")}
	build(t, b.weir, "weir/cmd/weir")
	server := filepath.Join(root, "server")
	build(t, server, "./testdata/server")
	write(t, filepath.Join(root, "go.mod"), "module test\n")
	for _, variant := range []string{"plain", "hash", "allocate", "fsync"} {
		write(t, filepath.Join(root, "subjects", variant, "subject.toml"), fmt.Sprintf("name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Receives bytes.\"\n"+
			"workloads = [\"sink\"]\nrun = [%q, %q, \"{addr}\"]\nwarm_messages = 50\nenv = { TMPDIR = %q }\n", variant, server, variant, diskDir))
	}
	return b
}

func build(t *testing.T, file, pkg string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-o", file, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// profile profiles two variants for a few seconds.
func (b *bench) profile(t *testing.T, one, other string, rate float64) *profile.Difference {
	t.Helper()
	none := false
	e := &lab.Experiment{Name: "planted", Settings: lab.Settings{
		Subjects: []string{one, other}, Connections: []int{8}, Patterns: []string{"staggered"}, Blocks: 1, AAControl: &none,
		Duration: workload.Duration(1500 * time.Millisecond), Window: workload.Duration(100 * time.Millisecond), WarmLimit: workload.Duration(250 * time.Millisecond),
		Loads: []workload.Load{&stream.Load{Common: workload.Common{Name: "messages", Rate: rate}, Size: 1000}},
	}}
	r, err := lab.NewRunner(context.Background(), e, lab.Options{Out: filepath.Join(t.TempDir(), "run"), Root: b.root, Required: e.Subjects, Seed: 1, ServerCPUs: 1, Generator: []string{b.weir, "load"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := profile.Run(context.Background(), r, profile.Config{A: one, B: other, Frequency: 8000})
	if closed := r.Close(); closed != nil {
		t.Error(closed)
	}
	if err != nil {
		if strings.Contains(err.Error(), "cannot be sampled") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return d
}
