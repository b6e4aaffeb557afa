package gallery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weir/lab/result"
)

const (
	// MaxRuns limits the runs of a gallery.
	MaxRuns = 200
	// MaxProblems limits the runs that cannot be read and are named.
	MaxProblems = 200
	// maxFileBytes limits the size of a results.json.
	maxFileBytes = 256 << 20
)

// A Run is one run with the name of its folder.
type Run struct {
	Dir     string // as it was given, with forward slashes
	Results *result.Results
}

// Read reads the runs in dirs. A folder without results stands for the runs in the folders below
// it. Each run that cannot be read gives one error, of which there are at most [MaxProblems], and
// the others are returned.
func Read(dirs []string) (runs []Run, problems []error) {
	left := 0 // errors beyond MaxProblems
	for _, dir := range distinctRuns(dirs) {
		if len(runs) == MaxRuns {
			problems = append(problems, fmt.Errorf("%s and what follows is left out: a gallery has at most %d runs", dir, MaxRuns))
			break
		}
		r, err := readRun(dir)
		switch {
		case err == nil:
			runs = append(runs, Run{filepath.ToSlash(dir), r})
		case len(problems) < MaxProblems:
			problems = append(problems, err)
		default:
			left++
		}
	}
	if left > 0 {
		problems = append(problems, fmt.Errorf("%d more runs cannot be read", left))
	}
	return runs, problems
}

// distinctRuns returns the folders of runs in dirs, each results file once: others are links to it.
func distinctRuns(dirs []string) (all []string) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, run := range runsIn(filepath.Clean(dir)) {
			file := filepath.Join(run, result.File)
			if real, err := filepath.EvalSymlinks(file); err == nil {
				file = real
			}
			if file, err := filepath.Abs(file); err == nil && !seen[file] {
				seen[file] = true
				all = append(all, run)
			}
		}
	}
	return all
}

// runsIn returns a run's folder, or the folders of runs below a folder that is none.
func runsIn(dir string) (runs []string) {
	if _, err := os.Stat(filepath.Join(dir, result.File)); err == nil {
		return []string{dir}
	}
	// an error of Glob is a malformed pattern: a folder with such a name has no runs below it
	files, _ := filepath.Glob(filepath.Join(dir, "*", result.File))
	for _, f := range files {
		runs = append(runs, filepath.Dir(f))
	}
	if len(runs) == 0 {
		return []string{dir} // reading it says what is missing
	}
	return runs
}

func readRun(dir string) (*result.Results, error) {
	file := filepath.Join(dir, result.File)
	switch info, err := os.Stat(file); {
	case err != nil: // reading it says why
	case !info.Mode().IsRegular(): // reading a pipe would not end
		return nil, fmt.Errorf("%s is no regular file: leave it out", file)
	case info.Size() > maxFileBytes:
		return nil, fmt.Errorf("%s is larger than %d MB: leave it out", file, maxFileBytes>>20)
	}
	r, err := result.Read(dir)
	if err == nil && len(r.Trials) == 0 {
		err = errors.New(dir + " has no trial: leave it out, or finish it with weir lab run --resume " + dir)
	}
	return r, err
}
