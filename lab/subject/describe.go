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

// Describe returns the subject's description for reports. Lines are counted in the files that its
// sources match. The size of its binary is 0 before a build and for a subject that names none. For
// a folder it is the total size of its files. Describe runs the version command, if there is one.
func (s *Subject) Describe() result.Subject {
	return result.Subject{
		Name: s.Name, Language: s.Language, Version: s.version(), Paradigm: s.Paradigm, About: s.About, Differs: s.differs(), Durability: s.Durability,
		Lines: s.lines(), Dependencies: s.Dependencies, BinaryBytes: s.binaryBytes(),
	}
}

// differs returns how the subject's work differs, with what it lacks.
func (s *Subject) differs() string {
	if len(s.Lacks) == 0 {
		return s.Differs
	}
	return strings.TrimSpace(s.Differs + " It lacks " + strings.Join(s.Lacks, ", ") + ".")
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
		size = info.Size() // follows a symbolic link
	}
	return size
}

// binary returns the absolute path of the binary.
func (s *Subject) binary() string {
	file := s.fillFolders([]string{s.Binary})[0]
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.Dir, file)
}

// SourceFiles returns the files that the globs of sources match, each once, sorted. Go's test files
// are excluded.
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
		f, err := openRegular(file)
		if err != nil {
			continue
		}
		n += countLines(bufio.NewScanner(f), commentsOf(filepath.Ext(file)))
		f.Close()
	}
	return n
}

// comments is a language's syntax of comments: to the end of the line, and over several lines.
type comments struct{ line, open, close string }

// commentsOf returns the syntax by a file's extension; that of C++ is the default.
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

// countLines counts the lines with more than blanks and comments. A line with code before a comment
// counts. Python's documentation strings count as code.
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
