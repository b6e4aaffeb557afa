package subject

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/suggest"
)

// Project returns the root of the project of dir: the nearest folder at or above it with a go.mod,
// otherwise dir itself. The root has the folders subjects/ and build/.
func Project(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// Discover finds the subjects of a project: the server programs that the lab measures. It reads
// root/subjects/*/subject.toml. It returns the valid subjects, sorted by name, and an error that
// joins the errors of the others. A subject there must have the name of its folder.
func Discover(root string) ([]*Subject, error) {
	files, err := filepath.Glob(filepath.Join(root, "subjects", "*", fileName))
	if err != nil {
		return nil, fmt.Errorf("cannot look for subjects under %q: %w", root, err)
	}
	var found []*Subject
	var broken []error
	for _, f := range files {
		s, err := readOwn(f)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b *Subject) int { return strings.Compare(a.Name, b.Name) })
	return found, errors.Join(broken...)
}

// readOwn reads a subject of the project.
func readOwn(file string) (*Subject, error) {
	s, err := Read(file)
	if err == nil && s.Name != filepath.Base(s.Dir) {
		return nil, fmt.Errorf("%s: name: %q is not the folder's name: write name = %q", s.File, s.Name, filepath.Base(s.Dir))
	}
	return s, err
}

// Select returns the subjects of a command line: those under root with the given names (all if
// neither names nor files are given), then those in the given files. A name that does not exist,
// and two different subjects of one name, are errors. A broken subject is an error only
// if it is selected.
func Select(root string, names, files []string) ([]*Subject, error) {
	all, broken := Discover(root)
	if len(names) == 0 && len(files) == 0 {
		return all, broken
	}
	chosen := make([]*Subject, 0, len(names)+len(files))
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *Subject) bool { return s.Name == name })
		if i < 0 {
			return nil, unknownName(root, name, all)
		}
		chosen = append(chosen, all[i])
	}
	for _, f := range files {
		s, err := Read(f)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, s)
	}
	return distinct(chosen)
}

// UnknownError is the error of a name that no subject has.
type UnknownError struct{ text string }

// Error implements error.
func (e *UnknownError) Error() string { return e.text }

func unknownName(root, name string, all []*Subject) error {
	file := filepath.Join(root, "subjects", name, fileName)
	if _, err := os.Stat(file); err == nil {
		_, err = readOwn(file)
		return fmt.Errorf("there is no usable subject %q: %w", name, err)
	}
	if len(all) == 0 {
		return &UnknownError{fmt.Sprintf("there is no subject %q, nor any other, under this folder: go to the project's, or describe your own in a file", name)}
	}
	known := make([]string, len(all))
	for i, s := range all {
		known[i] = s.Name
	}
	return &UnknownError{fmt.Sprintf("there is no subject %q: choose among %s, or describe your own in a file%s", name, strings.Join(known, ", "), suggest.DidYouMean(name, known))}
}

// distinct drops repetitions of one file and rejects two files with one name.
func distinct(chosen []*Subject) ([]*Subject, error) {
	byName := map[string]*Subject{}
	kept := chosen[:0]
	for _, s := range chosen {
		before := byName[s.Name]
		if before != nil && before.File != s.File {
			return nil, fmt.Errorf("two subjects are called %q, in %s and in %s: rename one", s.Name, before.File, s.File)
		}
		if before == nil {
			byName[s.Name] = s
			kept = append(kept, s)
		}
	}
	return kept, nil
}
