package simdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/disk"
)

// implementations are the file systems that must behave alike. Each has an empty folder for a test.
var implementations = map[string]func(t *testing.T) (disk.FS, string){
	"system":    func(t *testing.T) (disk.FS, string) { return disk.System, t.TempDir() },
	"simulated": func(*testing.T) (disk.FS, string) { return New(1).Process(), "/" },
}

// forEach runs a test with each implementation.
func forEach(t *testing.T, test func(t *testing.T, d disk.FS, dir string)) {
	for name, start := range implementations {
		t.Run(name, func(t *testing.T) {
			d, dir := start(t)
			test(t, d, dir)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, d disk.FS, name string, flag int) disk.File {
	t.Helper()
	f, err := d.OpenFile(name, flag, 0o600)
	must(t, err)
	return f
}

func TestALockBelongsToOneOpenFile(t *testing.T) {
	forEach(t, func(t *testing.T, d disk.FS, dir string) {
		name := filepath.Join(dir, "lock")
		a, b := mustOpen(t, d, name, os.O_RDWR|os.O_CREATE), mustOpen(t, d, name, os.O_RDWR)
		must(t, a.Lock())
		must(t, a.Lock())
		if err := b.TryLock(); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("TryLock of a lock that another file has: got %v, want EWOULDBLOCK", err)
		}
		must(t, a.Unlock())
		must(t, b.TryLock())
		got := make(chan error, 1) // the waiter's result
		go func() { got <- a.Lock() }()
		must(t, b.Close()) // releases the lock
		must(t, <-got)
		must(t, a.Close())
	})
}

func TestAnUnlinkedFileStaysUntilItIsClosed(t *testing.T) {
	forEach(t, func(t *testing.T, d disk.FS, dir string) {
		name := filepath.Join(dir, "file")
		must(t, disk.WriteFile(d, name, []byte("contents"), 0o600))
		f := mustOpen(t, d, name, os.O_RDWR)
		must(t, d.Remove(name))
		if st, err := f.State(); err != nil || st.Links != 0 || st.Size != 8 {
			t.Errorf("State of an unlinked file: got %+v, %v; want 8 bytes and no links", st, err)
		}
		if _, err := f.WriteAt([]byte("C"), 0); err != nil {
			t.Error(err)
		}
		b := make([]byte, 8)
		if _, err := f.ReadAt(b, 0); err != nil || string(b) != "Contents" {
			t.Errorf("got %q, %v; want Contents", b, err)
		}
		must(t, f.Close())
		if _, err := d.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat: got %v, want fs.ErrNotExist", err)
		}
	})
}

func TestMappedMemoryIsTheFile(t *testing.T) {
	forEach(t, func(t *testing.T, d disk.FS, dir string) {
		name := filepath.Join(dir, "mapped")
		must(t, disk.WriteFile(d, name, []byte("0123456789abcdef and more"), 0o600))
		a, b := mustOpen(t, d, name, os.O_RDWR), mustOpen(t, d, name, os.O_RDONLY)
		mem, unmap, err := a.Map(16, true)
		must(t, err)
		defer unmap()
		other, unmapOther, err := b.Map(16, false)
		must(t, err)
		defer unmapOther()
		must(t, a.Close())
		must(t, b.Close())
		mem[0] = 'X'
		if got, err := disk.ReadFile(d, name); err != nil || string(got) != "X123456789abcdef and more" {
			t.Errorf("the file has %q, %v; want the byte that was stored", got, err)
		}
		must(t, disk.WriteFile(d, name+"2", nil, 0o600))
		c := mustOpen(t, d, name, os.O_RDWR)
		if _, err := c.WriteAt([]byte("Y"), 9); err != nil {
			t.Error(err)
		}
		if string(mem) != "X12345678Yabcdef" || string(other) != string(mem) {
			t.Errorf("the memory has %q and %q, want what was stored and written", mem, other)
		}
		must(t, c.Close())
	})
}

func TestTemporaryNamesAreUnused(t *testing.T) {
	forEach(t, func(t *testing.T, d disk.FS, dir string) {
		for range 3 {
			f, err := d.CreateTemp(dir, ".new-*.tmp")
			must(t, err)
			if base := filepath.Base(f.Name()); !strings.HasPrefix(base, ".new-") || !strings.HasSuffix(base, ".tmp") {
				t.Errorf("got the name %q, want .new-*.tmp", base)
			}
			must(t, f.Close())
			folder, err := d.MkdirTemp(dir, ".trash-")
			must(t, err)
			must(t, disk.WriteFile(d, filepath.Join(folder, "file"), nil, 0o600))
		}
		entries, err := d.ReadDir(dir)
		if err != nil || len(entries) != 6 {
			t.Fatalf("got %d entries, %v; want 6", len(entries), err)
		}
		for _, e := range entries {
			must(t, d.RemoveAll(filepath.Join(dir, e.Name())))
		}
		must(t, d.RemoveAll(filepath.Join(dir, "none")))
		if entries, err := d.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("got %d entries, %v; want none", len(entries), err)
		}
	})
}

// TestBothDisksDoTheSame makes the same calls on the system's disk and on a simulated one, and
// wants the same results.
func TestBothDisksDoTheSame(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "disk")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		p := &pair{t: t, sides: [2]side{{d: disk.System, dir: dir}, {d: New(1).Process(), dir: "/"}}}
		defer p.close()
		t.Repeat(map[string]func(*rapid.T){
			"open": p.open, "write": p.write, "read": p.read, "truncate": p.truncate, "rename": p.rename,
			"names": p.names, "make": p.make, "remove": p.remove, "sync": p.sync, "": p.compare,
		})
	})
}

// side is one of two file systems that are compared, with its open files.
type side struct {
	d     disk.FS
	dir   string
	files [3]disk.File
}

type pair struct {
	t     *rapid.T
	sides [2]side
}

// both makes a call on both sides and compares what it returns.
func (p *pair) both(what string, call func(s *side) (string, error)) {
	var got [2]string
	for i := range p.sides {
		out, err := call(&p.sides[i])
		got[i] = fmt.Sprintf("%s, error %s", out, kind(err))
	}
	if got[0] != got[1] {
		p.t.Fatalf("%s: the system's disk returns %s, the simulated one %s", what, got[0], got[1])
	}
}

// kind returns what an error is, without texts and paths.
func kind(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, os.ErrClosed):
		return "closed"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return err.Error()
}

func path(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/e", "d/e/b", "link", "../a", "link/a", "d/../b"}).Draw(t, label)
}

// at returns a path below the folder of a side, which no path leaves.
func (s *side) at(name string) string {
	return s.dir + "/d0/" + strings.ReplaceAll(name, "../a", "a")
}

func (p *pair) close() {
	for i := range p.sides {
		for _, f := range p.sides[i].files {
			if f != nil {
				f.Close()
			}
		}
	}
}

func (p *pair) open(t *rapid.T) {
	name, slot := path(t, "name"), rapid.IntRange(0, 2).Draw(t, "slot")
	flag := rapid.SampledFrom([]int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
		os.O_RDWR | os.O_CREATE | os.O_EXCL, os.O_WRONLY | os.O_APPEND | os.O_CREATE}).Draw(t, "flag")
	p.both(fmt.Sprintf("open %s %#x", name, flag), func(s *side) (string, error) {
		if s.files[slot] != nil {
			s.files[slot].Close()
		}
		f, err := s.d.OpenFile(s.at(name), flag, 0o600)
		if s.files[slot] = f; err != nil {
			s.files[slot] = nil
		}
		return "", err
	})
}

// file makes a call on an open file of both sides.
func (p *pair) file(t *rapid.T, what string, call func(f disk.File) (string, error)) {
	slot := rapid.IntRange(0, 2).Draw(t, "slot")
	if p.sides[0].files[slot] == nil {
		t.Skip("no file")
	}
	p.both(what, func(s *side) (string, error) { return call(s.files[slot]) })
}

func (p *pair) write(t *rapid.T) {
	data := rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(t, "data")
	at := rapid.Int64Range(-1, 2000).Draw(t, "at")
	p.file(t, fmt.Sprintf("write %d at %d", len(data), at), func(f disk.File) (string, error) {
		if at%2 == 0 {
			n, err := f.Write(data)
			return fmt.Sprint(n), err
		}
		n, err := f.WriteAt(data, max(at, 0))
		if err != nil && !errors.As(err, new(syscall.Errno)) || errors.Is(err, syscall.EINVAL) {
			return fmt.Sprint(n), errors.New("invalid") // WriteAt of a file with O_APPEND
		}
		return fmt.Sprint(n), err
	})
}

func (p *pair) read(t *rapid.T) {
	b := make([]byte, rapid.IntRange(0, 1000).Draw(t, "size"))
	at := rapid.Int64Range(0, 2000).Draw(t, "at")
	p.file(t, fmt.Sprintf("read %d at %d", len(b), at), func(f disk.File) (string, error) {
		var n int
		var err error
		if at%2 == 0 {
			n, err = f.Read(b)
		} else {
			n, err = f.ReadAt(b, at)
		}
		return fmt.Sprintf("%q", b[:max(n, 0)]), err
	})
}

func (p *pair) truncate(t *rapid.T) {
	size := rapid.Int64Range(-1, 3000).Draw(t, "size")
	p.file(t, fmt.Sprintf("truncate to %d", size), func(f disk.File) (string, error) { return "", f.Truncate(size) })
}

func (p *pair) sync(t *rapid.T) {
	all := rapid.Bool().Draw(t, "all")
	p.file(t, "sync", func(f disk.File) (string, error) {
		if all {
			return "", f.Sync()
		}
		return "", f.Datasync()
	})
}

func (p *pair) rename(t *rapid.T) {
	from, to := path(t, "from"), path(t, "to")
	calls := map[string]func(s *side) error{
		"rename":   func(s *side) error { return s.d.Rename(s.at(from), s.at(to)) },
		"link":     func(s *side) error { return s.d.Link(s.at(from), s.at(to)) },
		"exchange": func(s *side) error { return s.d.Exchange(s.at(from), s.at(to)) },
		"symlink":  func(s *side) error { return s.d.Symlink(from, s.at("link")) },
	}
	name := rapid.SampledFrom(sortedKeys(calls)).Draw(t, "call")
	p.both(fmt.Sprint(name, " ", from, " ", to), func(s *side) (string, error) { return "", calls[name](s) })
}

func (p *pair) make(t *rapid.T) {
	name := path(t, "name")
	p.both("mkdir "+name, func(s *side) (string, error) { return "", s.d.Mkdir(s.at(name), 0o700) })
}

func (p *pair) remove(t *rapid.T) {
	name, all := path(t, "name"), rapid.IntRange(0, 4).Draw(t, "all") == 0
	p.both(fmt.Sprint("remove ", name, " ", all), func(s *side) (string, error) {
		if all && !strings.HasPrefix(name, "link") && name != "d/../b" {
			return "", s.d.RemoveAll(s.at(name))
		}
		return "", s.d.Remove(s.at(name))
	})
}

// names reads the properties of a name.
func (p *pair) names(t *rapid.T) {
	name := path(t, "name")
	mode := rapid.SampledFrom([]fs.FileMode{0o600, 0o400, 0o700}).Draw(t, "mode")
	p.both("chmod "+name, func(s *side) (string, error) {
		if info, err := s.d.Stat(s.at(name)); err == nil && info.IsDir() {
			return "", nil // only root may search a folder without 0o100
		}
		return "", s.d.Chmod(s.at(name), mode)
	})
	p.both("readlink "+name, func(s *side) (string, error) { return s.d.Readlink(s.at(name)) })
	p.both("stat "+name, func(s *side) (string, error) { return describe(s.d.Stat(s.at(name))) })
	p.both("lstat "+name, func(s *side) (string, error) { return describe(s.d.Lstat(s.at(name))) })
	p.both("read "+name, func(s *side) (string, error) {
		b, err := disk.ReadFile(s.d, s.at(name))
		return fmt.Sprintf("%q", b), err
	})
	other := path(t, "other")
	p.both("same file "+name+" "+other, func(s *side) (string, error) {
		a, err1 := s.d.Stat(s.at(name))
		b, err2 := s.d.Stat(s.at(other))
		if err := errors.Join(err1, err2); err != nil {
			return "", nil
		}
		return fmt.Sprint(s.d.SameFile(a, b)), nil
	})
}

func describe(info fs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if info.Mode().IsRegular() {
		return fmt.Sprint(info.Name(), info.Mode(), info.Size()), nil
	}
	return fmt.Sprint(info.Name(), info.Mode().Type()), nil
}

// compare compares all folders and open files.
func (p *pair) compare(*rapid.T) {
	for i := range p.sides {
		_ = p.sides[i].d.Mkdir(p.sides[i].dir+"/d0", 0o700) // the first time
	}
	for _, name := range []string{"", "d", "d/e", "link"} {
		p.both("list "+name, func(s *side) (string, error) {
			entries, err := s.d.ReadDir(s.at(name))
			var all []string
			for _, e := range entries {
				all = append(all, fmt.Sprint(e.Name(), e.Type()))
			}
			return strings.Join(all, " "), err
		})
	}
	for slot := range p.sides[0].files {
		if p.sides[0].files[slot] == nil {
			continue
		}
		p.both("state", func(s *side) (string, error) {
			st, err := s.files[slot].State()
			if info, e := s.files[slot].Stat(); e != nil || info.IsDir() {
				return "", e
			}
			return fmt.Sprintf("%+v", st), err
		})
	}
}
