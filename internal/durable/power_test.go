package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"weir/internal/disk"
	"weir/internal/disk/simdisk"
)

// namesOn returns the names in the root of a simulated disk.
func namesOn(t *testing.T, p *simdisk.Process) string {
	t.Helper()
	entries, err := p.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// wantOn wants the contents of the file /state, and the names beside it.
func wantOn(t *testing.T, p *simdisk.Process, contents, all string) {
	t.Helper()
	got, err := disk.ReadFile(p, "/state")
	if err != nil || string(got) != contents {
		t.Errorf("/state has %q (%v), want %q", got, err, contents)
	}
	if got := namesOn(t, p); got != all {
		t.Errorf("the folder has %q, want %q", got, all)
	}
}

func mustReplace(t *testing.T, p *simdisk.Process, contents string) {
	t.Helper()
	if err := (Files{Disk: p}).ReplaceFile("/state", []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestALossOfPowerLeavesTheOldOrTheNewContents cuts the power at each call of a replacement and of
// a creation. A file that was acknowledged has its new contents.
func TestALossOfPowerLeavesTheOldOrTheNewContents(t *testing.T) {
	old, new := strings.Repeat("old ", 1000), strings.Repeat("new ", 1500)
	for name, c := range map[string]struct {
		path  string
		write func(Files) error
		old   string // contents before; "": the file is missing
	}{
		"replace":             {"/state", func(f Files) error { return f.ReplaceFile("/state", []byte(new), 0o600) }, old},
		"replace, no old one": {"/other", func(f Files) error { return f.ReplaceFile("/other", []byte(new), 0o600) }, ""},
		"create":              {"/other", func(f Files) error { return f.CreateFile("/other", []byte(new), 0o600) }, ""},
	} {
		for seed := range uint64(40) {
			for call, done := 1, false; !done; call++ {
				d := simdisk.New(seed)
				p := d.Process()
				mustReplace(t, p, old)
				d.CrashAt(call)
				err := c.write(Files{Disk: p})
				done = !d.Crashed()
				after := d.Crash().Process()
				got, missing := disk.ReadFile(after, c.path)
				if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
					t.Fatal(missing)
				}
				if text := string(got); text != new && (err == nil || text != c.old) {
					t.Fatalf("%s, seed %d, call %d, error %v: got %d bytes (%.10q), want the old or the new contents, the new ones without an error", name, seed, call, err, len(got), got)
				}
				mustRemoveTemps(t, after)
			}
		}
	}
}

// mustRemoveTemps removes the temporary files of a crash and wants the others to be left.
func mustRemoveTemps(t *testing.T, p *simdisk.Process) {
	t.Helper()
	if err := (Files{Disk: p}).RemoveTemps("/"); err != nil {
		t.Fatal(err)
	}
	if got := namesOn(t, p); strings.Contains(got, ".tmp") || !strings.Contains(got, "state") {
		t.Errorf("RemoveTemps leaves %q, want the files", got)
	}
}

func TestAReplacementWhoseFolderCannotBeSyncedIsTakenBack(t *testing.T) {
	for _, old := range []string{"old", ""} {
		t.Run("from "+old, func(t *testing.T) {
			d := simdisk.New(1)
			p := d.Process()
			if old != "" {
				mustReplace(t, p, old)
			}
			d.SetFaults(simdisk.Faults{SyncFolder: 1})
			err := (Files{Disk: p}).ReplaceFile("/state", []byte("new"), 0o600)
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("ReplaceFile whose folder cannot be synced: got %v, want EIO", err)
			}
			if old != "" {
				wantOn(t, p, old, "state")
			} else if got := namesOn(t, p); got != "" {
				t.Errorf("the folder has %q after its first file was refused, want nothing", got)
			}
		})
	}
}

// TestAFailedSyncIsNeverAcknowledged makes syncs of the contents fail. The next attempt writes the
// contents again: a sync alone would succeed, and the contents would not be on the disk.
func TestAFailedSyncIsNeverAcknowledged(t *testing.T) {
	for seed := range uint64(100) {
		d := simdisk.New(seed)
		p := d.Process()
		mustReplace(t, p, "old")
		d.SetFaults(simdisk.Faults{SyncFile: 1})
		for range 2 {
			if err := (Files{Disk: p}).ReplaceFile("/state", []byte("new"), 0o600); !errors.Is(err, syscall.EIO) {
				t.Fatalf("ReplaceFile whose sync fails: got %v, want EIO", err)
			}
			wantOn(t, p, "old", "state")
		}
		d.SetFaults(simdisk.Faults{})
		mustReplace(t, p, "new")
		if got, err := disk.ReadFile(d.Crash().Process(), "/state"); string(got) != "new" {
			t.Fatalf("after a loss of power: got %q (%v), want new", got, err)
		}
	}
}

func TestAFullDiskLeavesTheOldContents(t *testing.T) {
	for free := range int64(20) {
		d := simdisk.New(1)
		p := d.Process()
		mustReplace(t, p, "old")
		d.SetSpace(free * 200)
		err := (Files{Disk: p}).ReplaceFile("/state", make([]byte, 5000), 0o600)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("ReplaceFile with %d bytes free: got %v, want ENOSPC", free*200, err)
		}
		wantOn(t, p, "old", "state")
	}
}

func TestASecondNameThatACrashLeftIsRemoved(t *testing.T) {
	for i, do := range []func(Files) error{
		func(f Files) error { return f.ReplaceFile("/state", []byte("new"), 0o600) },
		func(f Files) error { return f.RemoveTempOf("/state") },
		func(f Files) error { return f.RemoveTemps("/") },
	} {
		p := simdisk.New(1).Process()
		mustReplace(t, p, "new")
		if err := disk.WriteFile(p, oldName("/state"), []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := do(Files{Disk: p}); err != nil {
			t.Fatal(fmt.Errorf("way %d: %w", i, err))
		}
		wantOn(t, p, "new", "state")
	}
}

// TestAReplacementThatCouldNotBeTakenBackIsRefused fills the disk so that the old file gets no
// second name, and lets the folder's sync fail, too.
func TestAReplacementThatCouldNotBeTakenBackIsRefused(t *testing.T) {
	d := simdisk.New(1)
	p := d.Process()
	mustReplace(t, p, "old")
	d.SetSpace(512) // for the temporary file
	d.SetFaults(simdisk.Faults{SyncFolder: 1})
	if err := (Files{Disk: p}).ReplaceFile("/state", []byte("new"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("ReplaceFile: got %v, want ENOSPC", err)
	}
	wantOn(t, p, "old", "state")
}
