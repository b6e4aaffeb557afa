package data

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/disk"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// room makes a room's folder with something in it.
func room(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, Rooms, Folder(name))
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "state"), []byte(":s.x CREATED "+name+" 1\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ways are those of giving a folder another name.
var ways = map[string]func(d Dir, old, name string) error{"exchange": Dir.exchange, "move and link": Dir.moveAndLink}

func TestARoomThatIsRenamedIsFoundByBothNames(t *testing.T) {
	for way, do := range ways {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			room(t, dir, "#a")
			rooms := filepath.Join(dir, Rooms)
			if err := (Dir{Path: dir}).link("#b", "#b"); err != nil {
				t.Fatal(err)
			}
			if err := do(Dir{Path: dir}, "#a", "#b"); err != nil {
				t.Fatal(err)
			}
			if now, ok := Renamed(dir, "#A"); !ok || now != "#b" {
				t.Errorf("Renamed(#a): got %q, %v; want #b", now, ok)
			}
			if _, err := os.Stat(filepath.Join(rooms, "#a", "state")); err != nil {
				t.Errorf("a room's file by its old path: got %v, want nil", err)
			}
			if all, err := List(dir); err != nil || len(all) != 1 || all[0].Path != "rooms/#b" {
				t.Errorf("List: got %v, %v; want one room", all, err)
			}
		})
	}
}

func TestRenamesThereAndBackAndOn(t *testing.T) {
	dir := t.TempDir()
	room(t, dir, "#a")
	room(t, dir, "#other")
	for _, c := range []struct {
		from, to string
		want     error
	}{{"#a", "#other", ErrTaken}, {"#a", "#b", nil}, {"#b", "#a", nil}, {"#a", "#b", nil}, {"#b", "#c", nil}, {"#other", "#a", ErrTaken}, {"#c", "#a", nil}} {
		if err := Rename(dir, c.from, c.to); !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Fatalf("Rename(%s, %s): got %v, want %v", c.from, c.to, err, c.want)
		}
	}
	for _, name := range []string{"#b", "#c"} {
		if now, ok := Renamed(dir, name); !ok || now != "#a" {
			t.Errorf("Renamed(%s): got %q, %v; want the present name", name, now, ok)
		}
	}
	if _, ok := Renamed(dir, "#a"); ok {
		t.Error("Renamed of an existing room: got ok, want false")
	}
}

// A crash leaves the link that was to change places with the folder, or a link to a room that is
// gone.
func TestADanglingLinkIsRemoved(t *testing.T) {
	dir := t.TempDir()
	room(t, dir, "#a")
	if err := (Dir{Path: dir}).link("#b", "#b"); err != nil {
		t.Fatal(err)
	}
	if err := Rename(dir, "#a", "#b"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, Rooms, "#b")); err != nil {
		t.Fatal(err)
	}
	if now, ok := Renamed(dir, "#a"); ok {
		t.Errorf("Renamed of a dangling link: got %q, want none", now)
	}
	if _, err := os.Lstat(filepath.Join(dir, Rooms, "#a")); !os.IsNotExist(err) {
		t.Errorf("the dangling link: got %v, want it removed", err)
	}
}

// A copy of a data directory has no links: they are made again from the state.
func TestAMissingLinkIsCreatedAgain(t *testing.T) {
	dir := t.TempDir()
	room(t, dir, "#now")
	room(t, dir, "#other")
	for _, old := range []string{"#old", "#old", "#other"} {
		if err := Relink(dir, old, "#now"); err != nil {
			t.Fatal(err)
		}
	}
	if now, ok := Renamed(dir, "#old"); !ok || now != "#now" {
		t.Errorf("Renamed(#old): got %q, %v; want #new", now, ok)
	}
	if _, ok := Renamed(dir, "#other"); ok {
		t.Error("Relink replaced a room's folder by a link, want the folder kept")
	}
}

// TestALossOfPowerLeavesTheRoomUnderOneOfBothNames cuts the power at each call of a renaming. After
// it was acknowledged, the room has the new name, and the old one leads there.
func TestALossOfPowerLeavesTheRoomUnderOneOfBothNames(t *testing.T) {
	for seed := range uint64(100) {
		for call, done := 1, false; !done; call++ {
			d := simdisk.New(seed)
			p := d.Process()
			files := durable.Files{Disk: p}
			if err := errors.Join(files.MkdirAll("/data/rooms/#a", 0o700), files.ReplaceFile("/data/rooms/#a/state", []byte("kept"), 0o600)); err != nil {
				t.Fatal(err)
			}
			d.CrashAt(call)
			err := Dir{Path: "/data", Disk: p}.Rename("#a", "#b")
			done = !d.Crashed()
			after := d.Crash().Process()
			dir := Dir{Path: "/data", Disk: after}
			all, listed := dir.List()
			if listed != nil || len(all) != 1 || err == nil && all[0].Path != "rooms/#b" {
				t.Fatalf("seed %d, call %d, error %v: got the rooms %v, %v; want one, with the new name without an error", seed, call, err, all, listed)
			}
			if text, err := disk.ReadFile(after, "/data/"+all[0].Path+"/state"); string(text) != "kept" {
				t.Fatalf("seed %d, call %d: got the state %q, %v; want it kept", seed, call, text, err)
			}
			now, ok := dir.Renamed("#a")
			if err == nil && (!ok || now != "#b") {
				t.Fatalf("seed %d, call %d: Renamed(#a): got %q, %v; want #b", seed, call, now, ok)
			}
		}
	}
}
