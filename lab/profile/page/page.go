// Package page writes a differential profile as an offline HTML page and as JSON.
package page

import (
	"encoding/json"
	"os"
	"path/filepath"

	"weir/internal/durable"
	"weir/lab/profile"
)

// The files of a profile.
const (
	HTMLFile = "profile.html"
	JSONFile = "profile.json"
)

// Write writes both files into dir, which it creates if necessary.
func Write(dir string, d *profile.Difference) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return durable.ReplaceFile(filepath.Join(dir, JSONFile), append(text, '\n'), 0o644)
}
