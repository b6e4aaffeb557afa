package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"weir/internal/disk/simdisk"
)

// childEnv names the file that a child process of a test replaces; see TestMain.
const childEnv = "WEIR_DURABLE_CHILD"

func replaceAndCreate(path string) (status int) {
	if ReplaceFile(path, []byte("new"), 0o600) != nil || CreateFile(path+"-created", []byte("new"), 0o600) != nil {
		return 1
	}
	return 0
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func want(t *testing.T, path, contents, all string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != contents {
		t.Errorf("%s has %q (%v), want %q", filepath.Base(path), got, err, contents)
	}
	if got := names(t, filepath.Dir(path)); got != all {
		t.Errorf("the folder has %q, want %q", got, all)
	}
}

func TestAReplacedFileHasTheNewContentsAndLeavesNothingBesideIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, contents := range []string{"one", "two, which is longer", ""} {
		if err := ReplaceFile(path, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
		want(t, path, contents, "state")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the mode is %v (%v), want 0600", info.Mode(), err)
	}
}

func TestAtEveryStepTheFileIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := ReplaceFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var steps []string
	r := Files{Step: func(s Step) {
		got, _ := os.ReadFile(path)
		steps = append(steps, string(s)+"="+string(got))
	}}
	if err := r.ReplaceFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(steps, " "), "written=old synced=old renamed=new done=new"; got != want {
		t.Errorf("a reader sees %q, want %q", got, want)
	}
}

func TestAFailedReplacementLeavesTheOldFileAndNoTemporaryOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(path, []byte("new"), 0o600); err == nil {
		t.Error("ReplaceFile over a folder: got no error, want one")
	}
	if got := names(t, dir); got != "state" {
		t.Errorf("the folder has %q, want only the old", got)
	}
}

func TestATemporaryFileThatACrashLeftIsReplaced(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".state.tmp")
	if err := os.WriteFile(left, []byte("half of somethi"), 0o400); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state")
	if err := ReplaceFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, path, "new", "state")
}

func TestCreateFileMakesAFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := CreateFile(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CreateFile(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("making it again gives %v, want fs.ErrExist", err)
	}
	want(t, path, "first", "state")
}

func TestRemoveTempsRemovesWhatCrashesLeftAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"state", ".state.tmp", ".state-12345", "redacted.tmp", ".lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveTemps(dir, ".state-*"); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), ".lock redacted.tmp state"; got != want {
		t.Errorf("the folder has %q, want %q", got, want)
	}
	if err := RemoveTemps(filepath.Join(dir, "none")); err != nil {
		t.Errorf("RemoveTemps in a folder that does not exist: got %v, want nil", err)
	}
}

func TestMkdirAllMakesFoldersAndTakesThoseThatAreThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(filepath.Join(file, "below"), 0o700); err == nil {
		t.Error("MkdirAll below a file: got no error, want one")
	}
	if err := SyncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("syncing a folder that is not there gives %v, want fs.ErrNotExist", err)
	}
}

// A folder is not durable only because it exists: the sync of its parent may have failed, or its
// maker may have been killed before that.
func TestMkdirAllSyncsTheNameOfAFolderThatIsThere(t *testing.T) {
	for name, before := range map[string]func(d *simdisk.Disk, p *simdisk.Process) error{
		"the parent's sync failed before": func(d *simdisk.Disk, p *simdisk.Process) error {
			d.SetFaults(simdisk.Faults{SyncFolder: 1})
			defer d.SetFaults(simdisk.Faults{})
			if err := (Files{Disk: p}).MkdirAll("/a", 0o700); !errors.Is(err, syscall.EIO) {
				return fmt.Errorf("the failed sync gives %w, want EIO", err)
			}
			return nil
		},
		"a process was killed between mkdir and sync": func(d *simdisk.Disk, p *simdisk.Process) error {
			return p.Mkdir("/a", 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := simdisk.New(1)
			p := d.Process()
			if err := before(d, p); err != nil {
				t.Fatal(err)
			}
			if err := (Files{Disk: p}).MkdirAll("/a", 0o700); err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if _, err := d.Crash().Process().Stat("/a"); err != nil {
					t.Fatalf("after a loss of power: got %v, want the folder", err)
				}
			}
		})
	}
}

func TestOfSeveralCallersOfCreateFileOneMakesTheFileWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	var wg sync.WaitGroup
	var made atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			contents := bytes.Repeat([]byte{byte('a' + i)}, 100_000)
			switch err := CreateFile(path, contents, 0o600); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("a caller gets %v, want nil or fs.ErrExist", err)
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(path)
	if err != nil || made.Load() != 1 || len(got) != 100_000 || len(bytes.Trim(got, string(got[0]))) != 0 {
		t.Errorf("%d callers made a file of %d bytes (%v), want one and 100,000 bytes of one caller", made.Load(), len(got), err)
	}
	if all := names(t, filepath.Dir(path)); all != "state" {
		t.Errorf("the folder has %q, want only the file", all)
	}
}
