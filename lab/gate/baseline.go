package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"weir/lab/result"
)

// baselineVersion increases by one when a field changes its meaning or is removed.
const baselineVersion = 1

// maxBaselineBytes limits the size of a baseline file.
const maxBaselineBytes = 4 << 20

// A Baseline holds the figures of one version, for gates without BASE on the same kind of machine.
type Baseline struct {
	FileVersion int            `json:"file_version"`
	Version     Version        `json:"version"`
	Commit      string         `json:"commit,omitempty"`
	Written     time.Time      `json:"written"`
	Load        Load           `json:"load"`
	ServerCPUs  int            `json:"server_cpus"`
	Machine     result.Machine `json:"machine"`
	BinaryBytes int64          `json:"binary_bytes,omitempty"`
	// standard deviation of the A/A control's blocks, of logarithms
	Noise  float64   `json:"noise"`
	Blocks []figures `json:"blocks"` // by metric; memory in KiB, latencies in us
}

// String is the version with its commit and date.
func (b *Baseline) String() string {
	v := Build{Version: b.Version, Commit: b.Commit}
	return fmt.Sprintf("%s of %s", v.String(), b.Written.UTC().Format("2006-01-02"))
}

// WriteBaseline records an outcome of a gate with Config.Record as a baseline.
func (o *Outcome) WriteBaseline(file string, serverCPUs int) error {
	b := Baseline{
		FileVersion: baselineVersion, Version: o.Head.Version, Commit: o.Head.Commit, Written: time.Now().UTC().Truncate(time.Second),
		Load: o.Load, ServerCPUs: serverCPUs, Machine: o.Machine, BinaryBytes: o.bytes, Noise: o.noise, Blocks: o.figures,
	}
	if len(b.Blocks) < MinBlocks {
		return fmt.Errorf("gate: only %d blocks were measured, and a baseline needs %d: give more time", len(b.Blocks), MinBlocks)
	}
	return result.WriteJSON(file, b)
}

// ReadBaseline reads a baseline file.
func ReadBaseline(file string) (*Baseline, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("gate: there is no baseline %s: write one with --write-baseline %s", file, file)
	case err != nil:
		return nil, fmt.Errorf("gate: cannot read the baseline: %w", err)
	case !info.Mode().IsRegular(): // reading a pipe or a device may not end
		return nil, fmt.Errorf("gate: %s is no regular file: name a baseline", file)
	case info.Size() > maxBaselineBytes:
		return nil, fmt.Errorf("gate: %s has %d bytes, and a baseline has %d at most: write it again with --write-baseline", file, info.Size(), maxBaselineBytes)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("gate: cannot read the baseline: %w", err)
	}
	return parseBaseline(file, text)
}

func parseBaseline(file string, text []byte) (*Baseline, error) {
	var b Baseline
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("gate: %s is not a baseline: %w: write it again with --write-baseline", file, err)
	}
	if b.FileVersion != baselineVersion {
		return nil, fmt.Errorf("gate: the baseline %s has version %d, and this program reads version %d: write it again with --write-baseline", file, b.FileVersion, baselineVersion)
	}
	if len(b.Blocks) < MinBlocks {
		return nil, fmt.Errorf("gate: the baseline %s has %d blocks, and a comparison needs %d: write it again with --write-baseline", file, len(b.Blocks), MinBlocks)
	}
	for i, figures := range b.Blocks {
		for name, v := range figures {
			if !(v > 0) {
				return nil, fmt.Errorf("gate: %s is damaged: block %d has the %s %v: write it again with --write-baseline", file, i+1, name, v)
			}
		}
	}
	return &b, nil
}

// check reports whether figures of this machine and load can be compared with the baseline's.
func (b *Baseline) check(m result.Machine, l Load, serverCPUs int) error {
	for _, c := range []struct{ what, then, now string }{
		{"CPU", b.Machine.CPU, m.CPU},
		{"number of cores", fmt.Sprint(b.Machine.Cores), fmt.Sprint(m.Cores)},
		{"kernel", b.Machine.Kernel, m.Kernel},
	} {
		if c.then != c.now {
			return fmt.Errorf("gate: the baseline is of another kind of machine (%s %q, here %q): its figures cannot be compared. Write a baseline here, or name BASE, which is better", c.what, c.then, c.now)
		}
	}
	if b.Load != l || b.ServerCPUs != serverCPUs {
		return fmt.Errorf("gate: the baseline was written under another load (%s with %d cores, now %s with %d): use the same flags, or write it again", b.Load, b.ServerCPUs, l, serverCPUs)
	}
	return nil
}

// checkBaseline returns the error of a judged metric that the baseline does not have in each block.
// Without it the gate would measure for its whole budget, and be undecided.
func (c *Config) checkBaseline() error {
	for _, name := range c.Metrics {
		if c.Baseline == nil || metricNamed(name).of == nil {
			continue
		}
		for _, of := range c.Baseline.Blocks {
			if !(of[name] > 0) {
				return fmt.Errorf("gate: the baseline %s has no %s in each block: leave that metric out, or write the baseline again", c.Baseline, metricNamed(name).title)
			}
		}
	}
	return nil
}
