package gallery

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

func TestARunBehindALinkIsShownOnce(t *testing.T) {
	root := t.TempDir()
	one := mkdir(t, root, "one")
	if err := result.Write(one, reporttest.Quick()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one", filepath.Join(root, "two")); err != nil {
		t.Fatal(err)
	}
	if runs, problems := Read([]string{root, filepath.Join(root, "two")}); len(runs) != 1 || len(problems) != 0 {
		t.Errorf("got %d runs and %v, want the run once", len(runs), problems)
	}
}

// TestAPipeInPlaceOfResultsIsLeftOut: reading it would never end.
func TestAPipeInPlaceOfResultsIsLeftOut(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(mkdir(t, root, "pipe"), result.File), 0o600); err != nil {
		t.Fatal(err)
	}
	if runs, problems := Read([]string{root}); len(runs) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "is no regular file") {
		t.Errorf("got %d runs and %v, want the error that it is no regular file", len(runs), problems)
	}
}
