package gallery

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// TestManyBrokenRunsAreRead: each was compared with all others, which took minutes.
func TestManyBrokenRunsAreRead(t *testing.T) {
	root := t.TempDir()
	const many = 10_000
	for i := range many {
		dir := filepath.Join(root, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, result.File), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs, problems := Read([]string{root, root})
	if len(runs) != 0 || len(problems) != MaxProblems+1 || !strings.Contains(problems[MaxProblems].Error(), "more runs cannot be read") {
		t.Errorf("got %d runs and %d problems, the last %v; want %d, and the number of the others", len(runs), len(problems), problems[len(problems)-1], MaxProblems+1)
	}
}

// TestMoreRunsThanAGalleryHasAreLeftOut reads the same run by many paths, as hard links.
func TestMoreRunsThanAGalleryHasAreLeftOut(t *testing.T) {
	root := t.TempDir()
	if err := result.Write(mkdir(t, root, "000"), reporttest.Quick()); err != nil {
		t.Fatal(err)
	}
	for i := range MaxRuns + 10 {
		if err := os.Link(filepath.Join(root, "000", result.File), filepath.Join(mkdir(t, root, fmt.Sprintf("%03d", i+1)), result.File)); err != nil {
			t.Skip(err)
		}
	}
	runs, problems := Read([]string{root})
	if len(runs) != MaxRuns || len(problems) != 1 || !strings.Contains(problems[0].Error(), "at most 200 runs") {
		t.Errorf("got %d runs and %v, want %d and the error that there are more", len(runs), problems, MaxRuns)
	}
}
