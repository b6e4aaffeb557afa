package portability

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"weir/internal/durable"
	"weir/lab/result"
	"weir/lab/subject"
)

// findingsFile is the format of build/portability.json.
type findingsFile struct {
	Key         string               `json:"key"` // digest of everything that was tried
	Portability []result.Portability `json:"portability"`
}

func findingsPath(root string) string { return filepath.Join(root, "build", "portability.json") }

// load returns the stored findings if they have this key.
func load(root, key string) ([]result.Portability, bool) {
	text, err := os.ReadFile(findingsPath(root))
	if err != nil {
		return nil, false
	}
	var k findingsFile
	if json.Unmarshal(text, &k) != nil || k.Key != key {
		return nil, false
	}
	return k.Portability, true
}

// save stores the findings. A reader sees either the old file or the new one.
func save(root, key string, found []result.Portability) error {
	text, err := json.MarshalIndent(findingsFile{key, found}, "", "  ")
	if err != nil {
		return err
	}
	file := findingsPath(root)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot store the findings: %w", err)
	}
	if err := durable.ReplaceFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot store the findings: %w", err)
	}
	return nil
}

// contentKey returns a digest that changes whenever a finding could change: with a subject's files,
// a command, the compilers or the machine.
func contentKey(subjects []*subject.Subject, all []target) string {
	h := sha256.New()
	fmt.Fprintln(h, runtime.GOOS, runtime.GOARCH, parts)
	for _, t := range all {
		fmt.Fprintln(h, t.name, t.compiler, t.extraFlags, t.runner)
		for _, tool := range t.tools() {
			fmt.Fprintln(h, tool, toolVersion(tool))
		}
	}
	for _, s := range subjects {
		fmt.Fprintln(h, s.Name, s.BuildCmd, s.RunCmd, s.CheckCmd)
		for _, file := range filesOf(s) {
			addFile(h, file)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// filesOf returns a subject's sources, the files that its build command names, and all files in its
// folder.
func filesOf(s *subject.Subject) []string {
	files := s.SourceFiles()
	own, _ := filepath.Glob(filepath.Join(s.Dir, "*"))
	files = append(files, own...)
	for _, word := range s.BuildCmd {
		if info, err := os.Stat(filepath.Join(s.Dir, word)); err == nil && info.Mode().IsRegular() {
			files = append(files, filepath.Join(s.Dir, word))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func addFile(w io.Writer, name string) {
	f, err := os.Open(name)
	if err != nil {
		fmt.Fprintln(w, filepath.Base(name), "unreadable")
		return
	}
	defer f.Close()
	inner := sha256.New()
	_, _ = io.Copy(inner, f) // a folder cannot be read and adds nothing
	fmt.Fprintf(w, "%s %x\n", filepath.Base(name), inner.Sum(nil))
}

// toolVersion returns the first line of a tool's --version; empty if it fails.
func toolVersion(tool string) string {
	said, err := exec.Command(tool, "--version").Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(said), "\n")
	return line
}
