package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/lab/result"
)

// The files of a run's directory that the lab itself writes. A trial is appended to trialsFile the
// moment it ends; results.json is written whole when a phase of the run ends or it is interrupted.
const (
	// the results without trials, and the experiment: what resuming needs
	headFile   = "run.json"
	trialsFile = "trials.jsonl" // a result.Trial a line
)

// head is what a run was started with.
type head struct {
	Results    result.Results
	Experiment Experiment
	Options    Options
	Programs   map[string]string // a digest of each subject's program, and of the lab's own
}

// store keeps a run in its directory.
type store struct {
	dir    string
	made   bool // the directory is of our making
	trials *journal[result.Trial]
}

// createStore makes dir, for a run that begin will begin. A directory that already holds one is
// refused.
func createStore(dir string) (*store, error) {
	s := &store{dir: dir}
	for _, name := range []string{headFile, result.File} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return nil, fmt.Errorf("lab: %s already holds a run: go on with it by --resume %s, or name another directory with --out", dir, dir)
		}
	}
	_, err := os.Stat(dir)
	s.made = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lab: cannot make %s, the directory of the run: %w: name another with --out", dir, err)
	}
	if s.trials, _, err = openJournal[result.Trial](filepath.Join(dir, trialsFile)); err != nil {
		return nil, fmt.Errorf("lab: cannot write to %s, the directory of the run: %w: name another with --out", dir, err)
	}
	return s, nil
}

// begin keeps what the run is started with.
func (s *store) begin(h head) error {
	if err := result.WriteJSON(filepath.Join(s.dir, headFile), h); err != nil {
		return fmt.Errorf("lab: cannot write to %s, the directory of the run: %w: name another with --out", s.dir, err)
	}
	return nil
}

// discard removes what createStore made, for a run that never began.
func (s *store) discard() {
	s.close()
	_ = os.Remove(filepath.Join(s.dir, trialsFile))
	if s.made {
		_ = os.Remove(s.dir) // stays if somebody has put something into it
	}
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
		err = h.recall(dir)
	}
	s := &store{dir: dir}
	if err == nil {
		s.trials, h.Results.Trials, err = openJournal[result.Trial](filepath.Join(dir, trialsFile))
	}
	if err != nil {
		return nil, h, fmt.Errorf("lab: cannot resume %s: %w", dir, err)
	}
	// an empty list, where there is none
	h.Results.Trials = append([]result.Trial{}, h.Results.Trials...)
	return s, h, nil
}

// recall takes from results.json what an interrupted run found beside its trials. A run that was
// killed may have left none.
func (h *head) recall(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, result.File)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	kept, err := result.Read(dir)
	if err != nil {
		return fmt.Errorf("%w: remove that file to go on with the trials alone", err)
	}
	r := &h.Results
	r.Rulers, r.Reasons, r.SwitchCosts, r.Portability = kept.Rulers, kept.Reasons, kept.SwitchCosts, kept.Portability
	r.Skipped, r.Notes = kept.Skipped, kept.Notes
	return nil
}

// save writes the results whole.
func (s *store) save(r *result.Results) error { return result.Write(s.dir, r) }

// close may be called again. The files stay.
func (s *store) close() { s.trials.close() }
