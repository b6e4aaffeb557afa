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

// The files that the lab itself writes to a run's directory. A trial is appended to trialsFile as
// it ends. results.json is written whole when a phase of the run ends or is interrupted.
const (
	// the results without trials, and the experiment: the input of Resume
	headFile   = "run.json"
	trialsFile = "trials.jsonl" // one result.Trial per line
)

// runHead is the recorded start of a run.
type runHead struct {
	Results    result.Results
	Experiment Experiment
	Options    Options
	// by name: a digest of each subject's program, and of the lab's own
	Programs map[string]string
}

// store stores a run in its directory.
type store struct {
	dir        string
	createdDir bool // reports whether createStore created the directory
	trials     *journal[result.Trial]
}

// journals are the names of the files to which findings are appended.
var journals = []string{trialsFile, probesFile, saturationFile, kneesFile}

// CheckOut returns an error if dir already holds a run, so that it cannot be that of a new one.
func CheckOut(dir string) error {
	for _, name := range []string{headFile, result.File} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("lab: %s already holds a run: continue it with --resume %s, or name another directory with --out", dir, dir)
		}
	}
	for _, name := range journals {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Size() > 0 {
			return fmt.Errorf("lab: %s holds %s of a run that has lost its %s: a new run would take it for its own: name another directory with --out", dir, name, headFile)
		}
	}
	return nil
}

// createStore creates dir for a new run. It is an error if dir already holds one.
func createStore(dir string) (*store, error) {
	s := &store{dir: dir}
	if err := CheckOut(dir); err != nil {
		return nil, err
	}
	_, err := os.Stat(dir)
	s.createdDir = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lab: cannot make %s, the directory of the run: %w: name another with --out", dir, err)
	}
	if s.trials, _, err = openJournal[result.Trial](filepath.Join(dir, trialsFile)); err != nil {
		return nil, fmt.Errorf("lab: cannot write to %s, the directory of the run: %w: name another with --out", dir, err)
	}
	return s, nil
}

// writeHead stores the start of the run.
func (s *store) writeHead(h runHead) error {
	if err := result.WriteJSON(filepath.Join(s.dir, headFile), h); err != nil {
		return fmt.Errorf("lab: cannot write to %s, the directory of the run: %w: name another with --out", s.dir, err)
	}
	return nil
}

// discard removes the files of a run without a trial, and the directory if createStore created it.
// The journal is locked until then.
func (s *store) discard() {
	defer s.close()
	for _, name := range append([]string{headFile, result.File}, journals...) {
		_ = os.Remove(filepath.Join(s.dir, name))
	}
	if s.createdDir {
		_ = os.Remove(s.dir) // fails if the directory has other files
	}
}

// openStore reads the head of a stored run and its finished trials, to resume it.
func openStore(dir string) (*store, runHead, error) {
	var h runHead
	b, err := os.ReadFile(filepath.Join(dir, headFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, h, fmt.Errorf("lab: %s holds no run to resume: there is no %s in it", dir, headFile)
	}
	if err == nil {
		err = h.decode(b)
	}
	if err == nil && h.Results.Version != result.Version {
		err = fmt.Errorf("it has schema version %d, this program writes %d: start a new run", h.Results.Version, result.Version)
	}
	if err == nil {
		err = h.restoreFindings(dir)
	}
	s := &store{dir: dir}
	if err == nil {
		s.trials, h.Results.Trials, err = openJournal[result.Trial](filepath.Join(dir, trialsFile))
	}
	if err == nil {
		if err = checkTrials(h.Results.Trials); err != nil {
			s.close()
		}
	}
	if err != nil {
		return nil, h, fmt.Errorf("lab: cannot resume %s: %w", dir, err)
	}
	// JSON must show an empty list, not null
	h.Results.Trials = append([]result.Trial{}, h.Results.Trials...)
	return s, h, nil
}

// decode decodes the text of headFile.
func (h *runHead) decode(text []byte) error {
	err := json.Unmarshal(text, h)
	if err == nil && h.Results.Version == result.Version {
		err = h.Experiment.Validate() // a wrong one would be found in the middle of the run
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w: put it back as it was, or start a new run", headFile, err)
	}
	return nil
}

// checkTrials returns an error if trials are not as a run has stored them: each once, in the order
// of their numbers.
func checkTrials(all []result.Trial) error {
	for i, t := range all {
		if t.ID != i+1 {
			return fmt.Errorf("line %d of %s has trial %d: the file was changed since: put it back as it was, or start a new run", i+1, trialsFile, t.ID)
		}
	}
	return nil
}

// restoreFindings copies the findings other than trials from an interrupted run's results.json. A
// run that was killed may not have written that file.
func (h *runHead) restoreFindings(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, result.File)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r := &h.Results
	kept, err := result.Read(dir)
	if err == nil && !kept.Started.Equal(r.Started) {
		err = fmt.Errorf("%s is of another run", result.File)
	}
	if err != nil {
		return fmt.Errorf("%w: remove that file to continue with the trials alone", err)
	}
	r.AccountingMethods, r.EventCounts, r.SwitchCosts, r.Portability = kept.AccountingMethods, kept.EventCounts, kept.SwitchCosts, kept.Portability
	r.Skipped, r.Notes, r.Agents = kept.Skipped, kept.Notes, kept.Agents
	return nil
}

// save writes all results.
func (s *store) save(r *result.Results) error { return result.Write(s.dir, r) }

// close closes the journal. It may be called more than once; the files stay.
func (s *store) close() { s.trials.close() }
