package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/lab/result"
)

// The files of a run's directory that the lab itself writes. A trial is appended to trialsFile the moment
// it ends; results.json is written whole when the run ends or is interrupted.
const (
	headFile   = "run.json"     // the results without trials, and the experiment: what resuming needs
	trialsFile = "trials.jsonl" // a result.Trial a line
)

// head is what a run was started with.
type head struct {
	Results    result.Results
	Experiment Experiment
	Options    Options
}

// store keeps a run in its directory.
type store struct {
	dir    string
	trials *os.File
}

// createStore makes dir and begins a run in it. A directory that already holds a run is refused.
func createStore(dir string, h head) (*store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lab: cannot make the directory of the run: %w: name another with --out", err)
	}
	if _, err := os.Stat(filepath.Join(dir, headFile)); err == nil {
		return nil, fmt.Errorf("lab: %s already holds a run: go on with it by --resume %s, or name another directory with --out", dir, dir)
	}
	if err := result.WriteJSON(filepath.Join(dir, headFile), h); err != nil {
		return nil, fmt.Errorf("lab: cannot write to the directory of the run: %w: name another with --out", err)
	}
	return appendStore(dir)
}

func appendStore(dir string) (*store, error) {
	f, err := os.OpenFile(filepath.Join(dir, trialsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lab: cannot write to the directory of the run: %w", err)
	}
	return &store{dir: dir, trials: f}, nil
}

// openStore reads a run that was begun, and its finished trials, to go on with it.
func openStore(dir string) (*store, head, error) {
	var h head
	b, err := os.ReadFile(filepath.Join(dir, headFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, h, fmt.Errorf("lab: %s holds no run to resume: there is no %s in it", dir, headFile)
	}
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err == nil && h.Results.Version != result.Version {
		err = fmt.Errorf("it has schema version %d, this program writes %d: start a new run", h.Results.Version, result.Version)
	}
	if err == nil {
		h.Results.Trials, err = readTrials(filepath.Join(dir, trialsFile))
	}
	if err != nil {
		return nil, h, fmt.Errorf("lab: cannot resume %s: %w", dir, err)
	}
	s, err := appendStore(dir)
	return s, h, err
}

// readTrials reads the finished trials. A last line that was cut off is the trial that was being written
// when the run ended: it is dropped from the file, and run again.
func readTrials(file string) ([]result.Trial, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var trials []result.Trial
	var good int64
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return trials, f.Truncate(good)
		}
		var t result.Trial
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, fmt.Errorf("%s, after %d trials: %w", filepath.Base(file), len(trials), err)
		}
		trials = append(trials, t)
		good += int64(len(line))
	}
}

// add keeps a finished trial.
func (s *store) add(t result.Trial) error {
	b, err := json.Marshal(t)
	if err == nil {
		_, err = s.trials.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("lab: cannot keep trial %d: %w", t.ID, err)
	}
	return nil
}

// finish writes the results whole.
func (s *store) finish(r *result.Results) error {
	return errors.Join(s.trials.Close(), result.Write(s.dir, r))
}
