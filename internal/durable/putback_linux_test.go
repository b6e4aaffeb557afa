package durable

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// withoutDescriptors is a Replacer whose folder cannot be synced, because it cannot be opened.
func withoutDescriptors(t *testing.T) Replacer {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) })
	return Replacer{Step: func(at Step) {
		none := limit
		if at == Renamed {
			none.Cur = 0
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
			t.Errorf("setting the limit of descriptors: got %v, want nil", err)
		}
	}}
}

func TestAReplacementWhoseFolderCannotBeSyncedIsTakenBack(t *testing.T) {
	for _, old := range []string{"old", ""} {
		t.Run("from "+old, func(t *testing.T) {
			path, by := filepath.Join(t.TempDir(), "state"), withoutDescriptors(t)
			if old != "" {
				if err := ReplaceFile(path, []byte(old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := by.ReplaceFile(path, []byte("new"), 0o600)
			by.Step(Done) // gives the descriptors back
			if err == nil {
				t.Fatal("ReplaceFile without a descriptor for the folder: got no error, want one: the folder cannot be synced")
			}
			if old != "" {
				want(t, path, old, "state")
			} else if got := names(t, filepath.Dir(path)); got != "" {
				t.Errorf("the folder has %q after its first file was refused, want nothing", got)
			}
		})
	}
}

func TestASecondNameThatACrashLeftIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, do := range []func() error{
		func() error { return ReplaceFile(path, []byte("new"), 0o600) },
		func() error { return RemoveTempOf(path) },
		func() error { return RemoveTemps(filepath.Dir(path)) },
	} {
		if err := os.WriteFile(oldName(path), []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		want(t, path, "new", "state")
	}
}
