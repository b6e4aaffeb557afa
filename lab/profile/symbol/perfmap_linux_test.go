package symbol

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOnlyAFileOfTheProcessIsItsPerfMap: every user of the machine may put something in its place.
func TestOnlyAFileOfTheProcessIsItsPerfMap(t *testing.T) {
	path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	t.Cleanup(func() { os.Remove(path) })
	text := []byte("1000 10 f\n")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func() error{
		"a link":       func() error { return os.Symlink(elsewhere, path) },
		"a named pipe": func() error { return syscall.Mkfifo(path, 0o644) },
		"a folder":     func() error { return os.Mkdir(path, 0o755) },
		"a file of another user": func() error {
			if os.Geteuid() != 0 {
				return os.Mkdir(path, 0o755) // only root can give a file away
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
			return os.Chown(path, 12345, 12345)
		},
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if table, err := ReadPerfMap(os.Getpid()); err == nil {
			t.Errorf("%s: got a table of %d symbols, want an error", name, table.Len())
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if table, err := ReadPerfMap(os.Getpid()); err != nil || table.Find(0x1008) != "f" {
		t.Errorf("its own file: got %v, error %v; want the function f", table, err)
	}
}
