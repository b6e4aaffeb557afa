package subject

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/lab/result"
)

// Describe tells what a report says about the subject. Lines are counted in the files that its
// sources match; the size of its binary is 0 before a build and for a subject that names none. A
// binary that is a folder has the size of the files in it. It asks for the version what the subject
// names for that.
func (s *Subject) Describe() result.Subject {
	return result.Subject{
		Name: s.Name, Language: s.Language, Version: s.version(), Paradigm: s.Paradigm, About: s.About, Differs: s.Differs, Durability: s.Durability,
		Lines: s.lines(), Dependencies: s.Dependencies, BinaryBytes: s.binaryBytes(),
	}
}

func (s *Subject) binaryBytes() (size int64) {
	if s.Binary == "" {
		return 0
	}
	file := s.binary()
	_ = filepath.WalkDir(file, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		size = info.Size() // a symbolic link is followed
	}
	return size
}

// binary is the absolute path of the binary that the description names.
func (s *Subject) binary() string {
	file := s.fillPlaces([]string{s.Binary})[0]
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.Dir, file)
}

// SourceFiles are the files that the sources' globs match, each once, sorted; not Go's tests, which
// are no part of a program.
func (s *Subject) SourceFiles() []string {
	var files []string
	for _, glob := range s.Sources {
		found, _ := filepath.Glob(filepath.Join(s.Dir, glob))
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	slices.Sort(files)
	return slices.Compact(files)
}

func (s *Subject) lines() (n int) {
	for _, file := range s.SourceFiles() {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		n += countLines(bufio.NewScanner(f), commentsOf(filepath.Ext(file)))
		f.Close()
	}
	return n
}

// comments are how a language writes them: to the end of the line, and over several lines.
type comments struct{ line, open, close string }

// commentsOf goes by a file's extension; most languages write comments as C++ does.
func commentsOf(ext string) comments {
	switch ext {
	case ".py", ".rb", ".sh", ".pl", ".ex", ".exs", ".toml", ".jl", ".nim", ".tcl":
		return comments{line: "#"}
	case ".lua", ".hs", ".ada", ".adb", ".sql":
		return comments{line: "--"}
	case ".erl", ".hrl":
		return comments{line: "%"}
	case ".lisp", ".clj", ".scm":
		return comments{line: ";"}
	}
	return comments{line: "//", open: "/*", close: "*/"}
}

// countLines counts the lines that hold more than blanks and comments. A comment that begins after
// code, on the same line, makes that line no less code; Python's documentation strings count as
// code.
func countLines(lines *bufio.Scanner, c comments) (n int) {
	lines.Buffer(nil, 1<<20) // generated files have long lines
	inside := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		for {
			if inside {
				_, after, closed := strings.Cut(line, c.close)
				if !closed {
					line = ""
					break
				}
				inside, line = false, strings.TrimSpace(after)
			}
			if c.open == "" || !strings.HasPrefix(line, c.open) {
				break
			}
			inside, line = true, line[len(c.open):]
		}
		if line != "" && !strings.HasPrefix(line, c.line) {
			n++
		}
	}
	return n
}
