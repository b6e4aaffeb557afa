package sampler

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"weir/lab/sample"
)

// spin computes for about so much CPU time, without a system call.
const spinCPU = 300 * time.Millisecond

func TestSamplesAddUpToTheCPUOfTheGroup(t *testing.T) {
	g, err := sample.NewGroup("sampler-test")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	const period = 251 * time.Microsecond
	s, err := Start(g, period)
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(os.Args[0], "spin")
	var out strings.Builder
	cmd.Stdout = &out
	if err := g.Start(cmd, sample.Placement{}); err != nil {
		t.Fatal(err)
	}
	waited := cmd.Wait()
	rec, err := s.Stop()
	if err != nil || waited != nil {
		t.Fatal(err, waited)
	}
	cpu, err := g.CPU()
	if err != nil {
		t.Fatal(err)
	}
	sampled := time.Duration(len(rec.Samples)) * period
	t.Logf("%d samples, %v of %v, lost %d", len(rec.Samples), sampled, cpu, rec.Lost)
}
