package subject

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Program is a digest of what runs when the subject runs, as far as its description tells: its
// commands, its environment, and its binary, or its sources where it names no binary; a file that
// is not there counts as such. Trials under different digests are trials of different programs.
func (s *Subject) Program() string {
	h := sha256.New()
	// words are encoded without fail
	_ = json.NewEncoder(h).Encode([]any{s.BuildCmd, s.RunCmd, s.Env})
	files := s.SourceFiles()
	if s.Binary != "" {
		files = filesOf(s.binary())
	}
	for _, file := range files {
		digest(h, file)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// filesOf is the files in a folder and below, in the order of their names, or the one file that
// name is.
func filesOf(name string) (files []string) {
	_ = filepath.WalkDir(name, func(file string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, file)
		}
		return nil
	})
	return files
}

// digest adds a file's content, framed by what cannot stand in it by chance: its length.
func digest(h io.Writer, file string) {
	f, err := os.Open(file)
	if err != nil {
		fmt.Fprintln(h, "missing")
		return
	}
	defer f.Close()
	n, err := io.Copy(h, f)
	fmt.Fprintln(h, n, err)
}
