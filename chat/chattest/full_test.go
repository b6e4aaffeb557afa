//go:build linux

package chattest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/testsize"
)

const (
	fullDisk = "size=12m" // size of the disk; the search index uses some of it
	// attempts until a change is refused; removed files free some space meanwhile
	fullTries = 50
)

// On a full disk every change of state is refused, and a refused change has no effect: not for
// other clients, and not after a kill and a restart with free space. Changes acknowledged before
// are kept.
func TestFullDiskRefusesChangesWithoutEffect(t *testing.T) {
	rounds := testsize.Of(t, "WEIR_CHATTEST_FULL", 1)
	data := smallDisk(t)
	s := newStateServer(t, programs()[0], data)
	if s.command[0] != "weir" {
		t.Skipf("%s does not support this state", s.name)
	}
	items := s.items()
	filler := &filler{path: filepath.Join(data, "filler")}
	for range rounds {
		bob := s.logIn(t, "bob", "bob", stateRoom)
		for _, it := range items {
			it.client = s.logIn(t, "ann", it.device(), it.room)
			if !it.change(s, it) || it.refused != "" {
				t.Fatalf("%s: with free space on the disk: got the refusal %q, want the change acknowledged", it.name, it.refused)
			}
		}
		for _, it := range items {
			s.refuseOnFull(t, it, filler)
		}
		if err := s.kill(); err != nil {
			t.Fatal(err)
		}
		bob.conn.Close()
		filler.empty(t)
		s.mustRestart(t)
		s.judge(t, items)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// refuseOnFull fills the disk, checks that a change is refused, and that the old state is still in
// effect.
func (s *stateServer) refuseOnFull(t *testing.T, it *item, f *filler) {
	t.Helper()
	for range fullTries {
		f.fill(t)
		if !it.change(s, it) {
			t.Fatalf("%s: on a full disk: got the connection closed, want the change refused with a text", it.name)
		}
		if it.refused != "" {
			break
		}
	}
	if it.refused == "" {
		t.Errorf("%s: on a full disk: got %d changes acknowledged, want one refused within %d", it.name, it.acked, fullTries)
		return
	}
	if strings.HasPrefix(it.refused, ":") && !strings.Contains(it.refused, "disk is full") {
		t.Errorf("%s: refused with %q, want a text that says that the disk is full", it.name, it.refused)
	}
	if it.sent != it.acked+1 {
		t.Errorf("%s: number %d was refused after number %d was acknowledged; want the next one", it.name, it.sent, it.acked)
	}
	it.sent = it.acked // the refused number no longer counts as requested
	fits, err := it.read(s, it.client)
	if err != nil || !fits(it.acked) {
		t.Errorf("%s: after the refusal %q: got %s and error %v, want the state of number %d, the last acknowledged", it.name, it.refused, it.lastRead, err, it.acked)
	}
}

// smallDisk returns a folder on a small file system.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("weir-chattest", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fullDisk); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// filler is a file that takes all free space.
type filler struct{ path string }

func (f *filler) fill(t *testing.T) {
	t.Helper()
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size > 0; {
		_, err := file.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 4
		case err != nil:
			t.Fatal(err)
		}
	}
}

func (f *filler) empty(t *testing.T) {
	t.Helper()
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
}

// A client that joins new rooms on a full disk must not leave a folder for each of them.
func TestRoomRefusedOnAFullDiskLeavesNoFolder(t *testing.T) {
	everyProgram(t, roomRefusedLeavesNoFolder)
}

func roomRefusedLeavesNoFolder(t *testing.T, p *program) {
	data := smallDisk(t)
	s := p.runIn(t, data)
	c := s.guest(t, "guest")
	c.join(t, "#there")
	c.must(t, c.send("PRIVMSG #there :said"))
	_, err := c.flush()
	c.must(t, err)
	(&filler{path: filepath.Join(data, "filler")}).fill(t)
	refused := 0
	for i := range 20 {
		c.must(t, c.send(fmt.Sprintf("JOIN #new%d", i)))
		lines, err := c.flush()
		c.must(t, err)
		text := strings.Join(lines, "\n")
		refused += strings.Count(text, " 403 ") + strings.Count(text, " 405 ")
	}
	folders, err := filepath.Glob(filepath.Join(data, "rooms", "#new*"))
	if err != nil || refused == 0 || len(folders) > 20-refused {
		t.Errorf("full disk: got %d of 20 rooms refused and %d folders (error %v), want some refused, and no folder for those", refused, len(folders), err)
	}
}
