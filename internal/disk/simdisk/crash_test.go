package simdisk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"weir/internal/disk"
)

// outcomes returns what a function sees after a crash, with how often, by many seeds. Each seed
// makes the same calls before.
func outcomes(t *testing.T, before func(d *Disk, p *Process), see func(p *Process) string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := range uint64(300) {
		d := New(seed)
		before(d, d.Process())
		seen[see(d.Crash().Process())]++
	}
	return seen
}

// wantOutcomes wants these outcomes, each at least once, and no other.
func wantOutcomes(t *testing.T, got map[string]int, want ...string) {
	t.Helper()
	slices.Sort(want)
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, want) {
		t.Errorf("got the outcomes %q, want %q", keys, want)
	}
}

// contents returns a function that reads a file: its bytes, each run of one byte as one.
func contents(name string) func(p *Process) string {
	return func(p *Process) string {
		b, err := disk.ReadFile(p, name)
		if err != nil {
			return "none"
		}
		return string(slices.Compact(bytes.ReplaceAll(b, []byte{0}, []byte("0"))))
	}
}

// names lists a folder.
func names(folder string) func(p *Process) string {
	return func(p *Process) string {
		entries, err := p.ReadDir(folder)
		if err != nil {
			return "none"
		}
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return strings.Join(all, " ")
	}
}

// writeAt writes n times a byte.
func writeAt(t *testing.T, f disk.File, b byte, n, at int) {
	t.Helper()
	if _, err := f.WriteAt(bytes.Repeat([]byte{b}, n), int64(at)); err != nil {
		t.Fatal(err)
	}
}

// durably makes a file of n times a byte that survives a crash.
func durably(t *testing.T, p *Process, name string, b byte, n int) disk.File {
	t.Helper()
	f := mustOpen(t, p, name, os.O_RDWR|os.O_CREATE)
	writeAt(t, f, b, n, 0)
	must(t, f.Sync())
	syncDir(t, p, "/")
	return f
}

func syncDir(t *testing.T, p *Process, name string) {
	t.Helper()
	f := mustOpen(t, p, name, os.O_RDONLY)
	must(t, f.Sync())
	must(t, f.Close())
}

func TestWhatWasSyncedSurvives(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) { durably(t, p, "/f", 'a', 1500) }, func(p *Process) string {
		b, err := disk.ReadFile(p, "/f")
		return fmt.Sprint(len(b), bytes.Count(b, []byte("a")), err)
	})
	wantOutcomes(t, got, "1500 1500 <nil>")
}

func TestUnsyncedSectorsAreDroppedKeptReorderedAndTorn(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 3*512)
		writeAt(t, f, 'b', 3*512, 0)
	}, contents("/f"))
	wantOutcomes(t, got, "a", "b", "ba", "ab", "aba", "bab")
}

func TestASectorHasAnyVersionSinceItsSync(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 100)
		writeAt(t, f, 'b', 50, 0)
		writeAt(t, f, 'c', 50, 50)
	}, contents("/f"))
	wantOutcomes(t, got, "a", "ba", "bc") // not "ac": the page has one version at a time
}

func TestSizeAndContentsSurviveApart(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 512)
		writeAt(t, f, 'b', 512, 512)
	}, contents("/f"))
	wantOutcomes(t, got, "a", "ab", "a0")
}

func TestACutThatIsNotSyncedComesBack(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 1024)
		must(t, f.Truncate(512))
	}, contents("/f"))
	wantOutcomes(t, got, "a", "a0")
}

func TestUnwrittenSectorsMayHaveDataOfRemovedFiles(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		d.ShowStale(true)
		must(t, durably(t, p, "/old", 'x', 512).Close())
		must(t, p.Remove("/old"))
		f := durably(t, p, "/f", 'a', 512)
		writeAt(t, f, 'b', 512, 512)
	}, contents("/f"))
	wantOutcomes(t, got, "a", "ab", "a0", "ax")
}

// TestAFailedSyncMarksSectorsAsClean has a sync fail and the next one succeed. Reads return the new
// data, and the medium has some of it only.
func TestAFailedSyncMarksSectorsAsClean(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 1024)
		writeAt(t, f, 'b', 1024, 0)
		d.SetFaults(Faults{SyncFile: 1})
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("Sync: got %v, want EIO", err)
		}
		d.SetFaults(Faults{})
		if text := contents("/f")(p); text != "b" {
			t.Errorf("the page cache has %q, want the new data", text)
		}
		must(t, f.Sync())
	}, contents("/f"))
	wantOutcomes(t, got, "a", "ab", "ba", "b")
}

func TestSectorsThatAreWrittenAgainAfterAFailedSyncSurvive(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 1024)
		writeAt(t, f, 'b', 1024, 0)
		d.SetFaults(Faults{SyncFile: 1})
		_ = f.Datasync()
		d.SetFaults(Faults{})
		writeAt(t, f, 'b', 1024, 0)
		must(t, f.Datasync())
	}, contents("/f"))
	wantOutcomes(t, got, "b")
}

func TestPermissionsAreSyncedBySyncOnly(t *testing.T) {
	mode := func(p *Process) string {
		info, err := p.Stat("/f")
		must(t, err)
		return info.Mode().String()
	}
	wantOutcomes(t, outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 1)
		must(t, p.Chmod("/f", 0o400))
		must(t, f.Datasync())
	}, mode), "-r--------", "-rw-------")
	wantOutcomes(t, outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 1)
		must(t, f.Chmod(0o400))
		must(t, f.Sync())
	}, mode), "-r--------")
}

func TestNamesAreForgottenUntilTheirFolderIsSynced(t *testing.T) {
	for name, c := range map[string]struct {
		before func(p *Process)
		want   []string
	}{
		"create":             {func(p *Process) { mustOpen(t, p, "/a", os.O_CREATE) }, []string{"f", "a f"}},
		"create, file sync":  {func(p *Process) { must(t, mustOpen(t, p, "/a", os.O_CREATE|os.O_RDWR).Sync()) }, []string{"f", "a f"}},
		"create, sync":       {func(p *Process) { mustOpen(t, p, "/a", os.O_CREATE); syncDir(t, p, "/") }, []string{"a f"}},
		"link":               {func(p *Process) { must(t, p.Link("/f", "/a")) }, []string{"f", "a f"}},
		"unlink":             {func(p *Process) { must(t, p.Remove("/f")) }, []string{"f", ""}},
		"rename":             {func(p *Process) { must(t, p.Rename("/f", "/a")) }, []string{"f", "a"}},
		"mkdir":              {func(p *Process) { must(t, p.Mkdir("/a", 0o700)) }, []string{"f", "a f"}},
		"symlink":            {func(p *Process) { must(t, p.Symlink("f", "/a")) }, []string{"f", "a f"}},
		"two, any order":     {func(p *Process) { must(t, p.Link("/f", "/a")); must(t, p.Link("/f", "/b")) }, []string{"f", "a f", "b f", "a b f"}},
		"unlink of a synced": {func(p *Process) { must(t, p.Rename("/f", "/a")); syncDir(t, p, "/"); must(t, p.Remove("/a")) }, []string{"a", ""}},
		"sync of an earlier": {func(p *Process) { must(t, p.Link("/f", "/a")); must(t, p.Remove("/a")); syncDir(t, p, "/") }, []string{"f"}},
		"a synced folder in a lost one": {func(p *Process) {
			must(t, p.Mkdir("/a", 0o700))
			must(t, p.Link("/f", "/a/b"))
			syncDir(t, p, "/a")
		}, []string{"f", "a f"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantOutcomes(t, outcomes(t, func(d *Disk, p *Process) {
				durably(t, p, "/f", 'a', 1)
				c.before(p)
			}, names("/")), c.want...)
		})
	}
}

func TestANameNeverPointsToNeitherFileOfARename(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		durably(t, p, "/f", 'a', 1)
		durably(t, p, "/new", 'b', 1)
		must(t, p.Rename("/new", "/f"))
	}, contents("/f"))
	wantOutcomes(t, got, "a", "b")
}

func TestExchangedNamesSurviveTogether(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		durably(t, p, "/a", 'a', 1)
		durably(t, p, "/b", 'b', 1)
		must(t, p.Exchange("/a", "/b"))
	}, func(p *Process) string { return contents("/a")(p) + contents("/b")(p) })
	wantOutcomes(t, got, "ab", "ba")
}

func TestARenameToAnotherFolderNeverLosesTheFile(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		durably(t, p, "/f", 'a', 1)
		must(t, p.Mkdir("/d", 0o700))
		must(t, p.Rename("/f", "/d/f"))
	}, func(p *Process) string { return contents("/f")(p) + " " + contents("/d/f")(p) })
	wantOutcomes(t, got, "a none", "none a")
}

func TestMappedMemorySurvivesInAnyVersion(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 16)
		mem, _, err := f.Map(16, true)
		must(t, err)
		for _, b := range []byte("bc") {
			copy(mem, bytes.Repeat([]byte{b}, 16))
			must(t, p.Chmod("/f", 0o600)) // any call: the kernel may write the page
		}
		copy(mem, bytes.Repeat([]byte("d"), 16))
	}, contents("/f"))
	// words of 8 bytes are stored one by one
	wantOutcomes(t, got, "a", "ba", "b", "cb", "c", "dc", "d")
}

func TestACrashAtAnyCallEndsAllCalls(t *testing.T) {
	for call := 1; call <= 3; call++ {
		d := New(1)
		p, other := d.Process(), d.Process()
		f := mustOpen(t, p, "/f", os.O_RDWR|os.O_CREATE)
		d.CrashAt(call)
		var errs []error
		for range 4 {
			_, err := f.WriteAt([]byte("x"), 0)
			errs = append(errs, err)
		}
		for i, err := range errs {
			if crashed := i+1 >= call; crashed != errors.Is(err, ErrCrashed) || !crashed && err != nil {
				t.Errorf("a crash in call %d: call %d returns %v", call, i+1, err)
			}
		}
		if _, err := other.Stat("/"); !errors.Is(err, ErrCrashed) || !d.Crashed() {
			t.Errorf("a call of another process: got %v, want ErrCrashed", err)
		}
	}
}

func TestTheInterruptedCallHasNoEffectAPartOrAll(t *testing.T) {
	got := outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 2)
		d.CrashAt(1)
		if _, err := f.WriteAt([]byte("bb"), 0); !errors.Is(err, ErrCrashed) {
			t.Errorf("got %v, want ErrCrashed", err)
		}
	}, contents("/f"))
	wantOutcomes(t, got, "a", "ba", "b")
	got = outcomes(t, func(d *Disk, p *Process) {
		f := durably(t, p, "/f", 'a', 2)
		writeAt(t, f, 'b', 2, 0)
		d.CrashAt(1)
		if err := f.Sync(); !errors.Is(err, ErrCrashed) {
			t.Errorf("got %v, want ErrCrashed", err)
		}
	}, contents("/f"))
	wantOutcomes(t, got, "a", "b")
}

func TestAKilledProcessLeavesThePageCacheAndNoLock(t *testing.T) {
	for moment, want := range map[Moment]string{Before: "aaaa", After: "bbbb"} {
		d := New(1)
		p, other := d.Process(), d.Process()
		f := durably(t, p, "/f", 'a', 4)
		must(t, f.Lock())
		waiting := mustOpen(t, other, "/f", os.O_RDWR)
		got := make(chan error, 1) // the waiter's result
		go func() { got <- waiting.Lock() }()
		p.KillAt(1, moment)
		if _, err := f.WriteAt([]byte("bbbb"), 0); !errors.Is(err, ErrKilled) {
			t.Errorf("got %v, want ErrKilled", err)
		}
		must(t, <-got)
		if b, err := disk.ReadFile(other, "/f"); err != nil || string(b) != want {
			t.Errorf("killed %v a write: got %q, %v; want %q", moment, b, err, want)
		}
		if _, err := p.Stat("/f"); !errors.Is(err, ErrKilled) {
			t.Errorf("a later call: got %v, want ErrKilled", err)
		}
	}
}

func TestAFullDiskStoresWhatFits(t *testing.T) {
	d := New(1)
	p := d.Process()
	f := durably(t, p, "/f", 'a', 100)
	d.SetSpace(1024)
	n, err := f.WriteAt(bytes.Repeat([]byte("b"), 3000), 100)
	if n != 3*512-100 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %d bytes and %v, want what fits and ENOSPC", n, err)
	}
	if _, err := p.OpenFile("/g", os.O_CREATE|os.O_RDWR, 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a new file: got %v, want ENOSPC", err)
	}
	writeAt(t, f, 'c', 512, 0) // overwriting needs no space
	must(t, p.Rename("/f", "/h"))
	must(t, p.Remove("/h"))
	if _, err := p.OpenFile("/g", os.O_CREATE|os.O_RDWR, 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a new file beside a removed open one: got %v, want ENOSPC", err)
	}
	must(t, f.Close())
	mustOpen(t, p, "/g", os.O_CREATE|os.O_RDWR)
}

func TestFailChoosesTheResultOfACall(t *testing.T) {
	d := New(1)
	p := d.Process()
	f := durably(t, p, "/f", 'a', 4)
	d.SetFaults(Faults{Fail: func(c Call) (int, error) {
		if c.Op == OpWrite && c.Name == "/f" {
			return c.Bytes / 2, syscall.EIO
		}
		return 0, nil
	}})
	if n, err := f.WriteAt([]byte("bbbb"), 0); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %d, %v; want 2 bytes and EIO", n, err)
	}
	if b, err := disk.ReadFile(p, "/f"); err != nil || string(b) != "bbaa" {
		t.Errorf("got %q, %v; want bbaa", b, err)
	}
}

func TestFlippedBitsStay(t *testing.T) {
	d := New(1)
	p := d.Process()
	durably(t, p, "/f", 'a', 2000)
	at, err := d.FlipBits("/f", 1)
	must(t, err)
	for range 2 {
		b, err := disk.ReadFile(p, "/f")
		must(t, err)
		if n := bytes.Count(b, []byte("a")); n != 1999 || b[at[0]] == 'a' {
			t.Errorf("got %d unchanged bytes, and %q at %d; want one changed", n, b[at[0]], at[0])
		}
		p = d.Crash().Process()
	}
}

func TestASeedDecidesEverything(t *testing.T) {
	run := func() string {
		d := New(7)
		p := d.Process()
		for i := range 50 {
			f := durably(t, p, fmt.Sprint("/f", i%5), 'a', i*40)
			writeAt(t, f, 'b', 700, i*10)
			must(t, p.Link(fmt.Sprint("/f", i%5), fmt.Sprint("/l", i)))
			if i%7 == 0 {
				d = d.Crash()
				p = d.Process()
			}
		}
		all := names("/")(p)
		for name := range strings.FieldsSeq(all) {
			all += contents("/" + name)(p)
		}
		return all
	}
	if a, b := run(), run(); a != b {
		t.Errorf("the same calls with the same seed gave\n%s\nand\n%s", a, b)
	}
}
