package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/lab/result"
)

func TestChangedMachineIsNamed(t *testing.T) {
	then := result.Results{
		Machine:           result.Machine{Kernel: "6.1", CPU: "fast", Cores: 2, Congestion: "cubic", MemoryMB: 8000, Versions: []string{"go1", "gcc 12"}},
		Plan:              result.Plan{ServerCPUs: []int{1}, LoadCPUs: []int{0}},
		AccountingMethods: []result.AccountingMethod{{Name: "cgroup v2 cpu.stat"}, {Name: "top"}},
	}
	for _, c := range []struct {
		name   string
		change func(*result.Results)
		want   string
	}{
		{"nothing", func(*result.Results) {}, ""},
		{"memory", func(r *result.Results) { r.Machine.MemoryMB-- }, ""},
		{"one more toolchain", func(r *result.Results) { r.Machine.Versions = []string{"go1", "rustc 1", "gcc 12"} }, ""},
		{"another kernel", func(r *result.Results) { r.Machine.Kernel = "6.2" }, `the kernel was "6.1" and is "6.2"`},
		{"another CPU", func(r *result.Results) { r.Machine.CPU = "slow" }, `the CPU was "fast"`},
		{"fewer cores", func(r *result.Results) { r.Machine.Cores = 1 }, `the number of cores was "2"`},
		{"another congestion control", func(r *result.Results) { r.Machine.Congestion = "bbr" }, `congestion control was "cubic"`},
		{"another compiler", func(r *result.Results) { r.Machine.Versions = []string{"go1", "gcc 13"} }, `"gcc 12" is gone`},
		{"another core", func(r *result.Results) { r.Plan.ServerCPUs = []int{0} }, `the subject's cores was "[1]"`},
		{"another core for the load", func(r *result.Results) { r.Plan.LoadCPUs = []int{1} }, `the generator's cores was "[0]"`},
		{"another accounting method", func(r *result.Results) { r.AccountingMethods = []result.AccountingMethod{{Name: "schedstat"}} }, `the accounting was "cgroup v2 cpu.stat"`},
	} {
		now := then
		c.change(&now)
		changed := strings.Join(machineChanges(&then, &now), "; ")
		if !strings.Contains(changed, c.want) || (c.want == "") != (changed == "") {
			t.Errorf("%s: got %q, want %q", c.name, changed, c.want)
		}
	}
}

// begin starts the experiment and keeps one trial of it.
func (b *bench) begin() *result.Results {
	b.t.Helper()
	r, err := NewRunner(b.t.Context(), b.experiment, b.options, nil)
	must(b.t, err)
	must(b.t, r.runPlace(b.t.Context(), Place{Cell: r.plan.Cells[0], Subject: "server-0"}, 0))
	must(b.t, r.Close())
	return r.results
}

func TestOnlyTheSameProgramsAreResumed(t *testing.T) {
	b := newBench(t, 0, 0)
	program := filepath.Join(filepath.Dir(b.file("1")), "program")
	must(t, os.WriteFile(program, []byte("one"), 0o755))
	b.change("1", "binary = \"program\"\n")
	b.begin()
	resume := func() (*Runner, error) {
		return Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	}
	r, err := resume()
	must(t, err)
	must(t, r.Close())
	must(t, os.WriteFile(program, []byte("two"), 0o755))
	if _, err := resume(); err == nil || !strings.Contains(err.Error(), "the program of server-1 has changed") || !strings.Contains(err.Error(), "start a new run") {
		t.Errorf("another binary of server-1: got error %v, want one that names it and says to start a new run", err)
	}
	must(t, os.WriteFile(program, []byte("one"), 0o755))
	other := filepath.Join(t.TempDir(), "weir")
	must(t, os.WriteFile(other, []byte("another lab"), 0o755))
	if _, err := Resume(t.Context(), b.options.Out, []string{other}, nil); err == nil || !strings.Contains(err.Error(), "the program of weir has changed") {
		t.Errorf("another binary of the lab: got error %v, want one that names weir", err)
	}
	must(t, os.Remove(b.file("1")))
	if _, err := resume(); err == nil || !strings.Contains(err.Error(), `no subject "server-1"`) {
		t.Errorf("without a subject that took part: got error %v, want one that names server-1", err)
	}
}

func TestResumedRunUsesItsOriginalSubjects(t *testing.T) {
	b := newBench(t, 0, 0)
	whole, err := os.ReadFile(b.file("1"))
	must(t, err)
	b.change("1", "needs = [\"no-such-tool-of-weir\"]\n")
	if begun := b.begin(); len(begun.Skipped) != 1 {
		t.Fatalf("got %+v skipped, want server-1", begun.Skipped)
	}
	must(t, os.WriteFile(b.file("1"), whole, 0o644)) // the missing tool has been installed since
	r, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil)
	must(t, err)
	must(t, r.Close())
	if !slices.Equal(r.plan.Subjects, []string{"server-0"}) || len(r.results.Skipped) != 1 {
		t.Errorf("got subjects %v, skipped %+v; want only server-0, and server-1 still skipped", r.plan.Subjects, r.results.Skipped)
	}
}

// TestRejectedResumeLeavesNothingOpen counts the open files of this process.
func TestRejectedResumeLeavesNothingOpen(t *testing.T) {
	b := newBench(t, 0)
	b.begin()
	b.change("0", "env = { A = \"b\" }\n")
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(files)
	}
	before := open()
	for range 3 {
		if _, err := Resume(t.Context(), b.options.Out, b.options.Generator, nil); err == nil {
			t.Fatal("got no error, want one")
		}
	}
	if after := open(); after > before {
		t.Errorf("got %[2]d open files, want %[1]d", before, after)
	}
}
