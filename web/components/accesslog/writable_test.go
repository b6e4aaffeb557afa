package accesslog

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Check reports the faults that New would report, and creates no file.
func TestCheckChangesNoFile(t *testing.T) {
	dir := t.TempDir()
	there, full := filepath.Join(dir, "there.log"), filepath.Join(dir, "full")
	if err := os.WriteFile(there, []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(full, 0o500); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	for _, c := range []struct{ file, want string }{
		{filepath.Join(dir, "new.log"), ""},
		{there, ""},
		{filepath.Join(dir, "none", "new.log"), "its folder does not exist: create " + filepath.Join(dir, "none")},
		{filepath.Join(there, "new.log"), "not a directory"},
		{dir, "is a directory"},
		{filepath.Join(full, "new.log"), "its folder is not writable: permission denied"},
	} {
		if strings.HasPrefix(c.file, full) && os.Geteuid() == 0 { // who may do anything
			continue
		}
		l, err := Check(Config{File: c.file})
		if c.want == "" {
			if err != nil {
				t.Errorf("Check of %s: got %v, want nil: a log can be created there", c.file, err)
				continue
			}
			l.add([]byte("discarded\n"))
			if err := l.Reopen(); err != nil {
				t.Errorf("Reopen of a checked log: got %v, want nil", err)
			}
			if err := l.Close(); err != nil {
				t.Errorf("Close of a checked log: got %v, want nil", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.file, err, c.want)
		}
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the folder after Check: got\n%s\nwant it unchanged\n%s", after, before)
	}
	if _, err := Check(Config{}); err == nil {
		t.Error("Check without a file: got no error, want one")
	}
}

// listing is what stands in a folder, with sizes and times.
func listing(t *testing.T, dir string) string {
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all.WriteString(fs.FormatFileInfo(info) + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
