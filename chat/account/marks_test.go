package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestReadMarkersMoveForwardOnly also checks that markers are kept by Close, one for each device
// and room.
func TestReadMarkersMoveForwardOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "marks")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.WriteFile(filepath.Join(dir, "accounts"), []byte("Ann -\nbob -\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		type mark struct{ account, device, room string }
		want := map[mark]int64{}
		var s *Store
		again := func() {
			if s != nil {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if s, err = Open(dir, Options{MarkerInterval: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		again()
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			m := mark{rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "account"), rapid.SampledFrom([]string{"", "phone", SharedDevice}).Draw(t, "device"),
				rapid.SampledFrom([]string{"room1", "room2"}).Draw(t, "room")}
			offset := rapid.Int64Range(-1, 100).Draw(t, "offset")
			s.SetReadMarker(strings.ToUpper(m.account), m.device, m.room, offset)
			if old, ok := want[m]; offset >= 0 && (!ok || old < offset) {
				want[m] = offset
			}
			if rapid.Bool().Draw(t, "again") {
				again()
			}
		}
		again()
		for _, account := range []string{"ann", "bob"} {
			for _, device := range []string{"", "phone", SharedDevice} {
				for _, room := range []string{"room1", "room2"} {
					wanted, ok := want[mark{account, device, room}]
					if got, found := s.ReadMarker(account, device, room); got != wanted || found != ok {
						t.Errorf("ReadMarker(%s, %q, %s): got %d, %v; want %d, %v", account, device, room, got, found, wanted, ok)
					}
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// until waits for what another goroutine is about to do.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for a minute, want: %s", what)
		}
	}
}

// TestReadMarkersAreWrittenAndMerged checks that markers are written after the interval, that a
// failed write is repeated, and that other lines and keys stay.
func TestReadMarkersAreWrittenAndMerged(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "accounts", "ann -\n")
	write(t, dir, "file", "no folder")
	if err := os.Symlink("file", filepath.Join(dir, "marks")); err != nil {
		t.Fatal(err)
	}
	reported := make(chan error, 1)
	s := open(t, dir, Options{MarkerInterval: time.Millisecond, Report: func(err error) {
		select {
		case reported <- err:
		default:
		}
	}})
	s.SetReadMarker("ann", "phone", "room1", 5)
	if err := <-reported; !strings.Contains(err.Error(), "marks") {
		t.Errorf("Report: got %v, want an error that names the folder marks", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "folder/ann", "# hers\nroom1 phone 3 x=1\nroom1 - 9\nrubbish\n")
	// the rename is atomic: no flush sees a folder without ann's file
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink("folder", link), os.Rename(link, filepath.Join(dir, "marks"))); err != nil {
		t.Fatal(err)
	}
	until(t, "the mark is written", func() bool { return strings.Contains(read(t, dir, "marks/ann"), "phone 5") })
	if got := read(t, dir, "marks/ann"); !strings.HasPrefix(got, "# hers\nroom1 phone 5 x=1 seen=2") || !strings.HasSuffix(got, "\nroom1 - 9\nrubbish\n") {
		t.Errorf("marks/ann: got the file\n%s\nwant the phone's marker at 5 and all other lines and keys unchanged", got)
	}
	s.SetReadMarker("nobody", "", "room1", 5)
	s.SetReadMarker("ann", "a b", "room1", 5)
	s.SetReadMarker("ann", "", "room\n1", 5)
	if err := s.marks.flush(); err != nil || read(t, dir, "marks/nobody") != "" || strings.Contains(read(t, dir, "marks/ann"), "a b") {
		t.Errorf("after SetReadMarker with invalid names: got error %v and marks/ann\n%s\nwant nil and none of these markers stored", err, read(t, dir, "marks/ann"))
	}
}

// TestDevicesAreBounded checks that an account has at most MaxDevices devices: the one unseen for
// longest is removed.
func TestDevicesAreBounded(t *testing.T) {
	dir, clock := t.TempDir(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	write(t, dir, "accounts", "ann -\n")
	s := open(t, dir, Options{MarkerInterval: time.Hour, Now: func() time.Time { return clock }})
	s.SetReadMarker("ann", SharedDevice, "room1", 1)
	for i := range MaxDevices + 3 {
		clock = clock.Add(time.Minute)
		s.SetReadMarker("ann", fmt.Sprintf("d%d", i), "room1", 1)
		if i > 0 {
			s.SetReadMarker("ann", "d0", "room1", int64(i)) // stays in use
		}
		if err := s.marks.flush(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range MaxDevices + 3 {
		_, ok := s.ReadMarker("ann", fmt.Sprintf("d%d", i), "room1")
		if want := i == 0 || i > 3; ok != want {
			t.Errorf("device d%d: got a marker %v, want %v", i, ok, want)
		}
	}
	if _, ok := s.ReadMarker("ann", SharedDevice, "room1"); !ok {
		t.Error("the shared read marker was removed, want it kept")
	}
}
