package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/internal/durable"
)

// File is the name of the results in the directory of a run.
const File = "results.json"

// Read reads the results from dir, the directory of a run. The error says what is wrong with the
// file and what to do.
func Read(dir string) (*Results, error) {
	file := filepath.Join(dir, File)
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s contains no finished run (no %s in it): start one with weir lab run --out %s, or finish an interrupted one with --resume %s", dir, File, dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the results: %w", err)
	}
	var r Results
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", file, err)
	}
	if r.Version != Version {
		return nil, fmt.Errorf("%s has schema version %d and this program reads version %d: use the weir that wrote it", file, r.Version, Version)
	}
	return &r, nil
}

// Write writes r to dir atomically: a reader sees the old results or the new ones, never a part.
func Write(dir string, r *Results) error {
	return WriteJSON(filepath.Join(dir, File), r)
}

// WriteJSON atomically replaces file with the JSON encoding of v.
func WriteJSON(file string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("cannot encode %s: %w", filepath.Base(file), err)
	}
	return durable.ReplaceFile(file, append(b, '\n'), 0o644)
}
