package subject

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Program returns a digest of the subject's program: its commands, its environment, and its binary,
// or its sources if it names no binary. A missing file is part of the digest. Trials with different
// digests are trials of different programs.
func (s *Subject) Program() string {
	h := sha256.New()
	// encoding strings cannot fail
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

// filesOf returns the files in a folder and below, ordered by name, or the file itself.
func filesOf(name string) (files []string) {
	_ = filepath.WalkDir(name, func(file string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, file)
		}
		return nil
	})
	return files
}

// digest adds a file's content, followed by its length as a separator.
func digest(h io.Writer, file string) {
	f, err := openRegular(file)
	if err != nil {
		fmt.Fprintln(h, "missing")
		return
	}
	defer f.Close()
	n, err := io.Copy(h, f)
	fmt.Fprintln(h, n, err)
}
