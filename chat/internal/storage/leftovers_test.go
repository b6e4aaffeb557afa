package storage

import (
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"testing"
	"time"

	"weir/chat/data"
	"weir/chat/log"
	"weir/internal/disk/simdisk"
)

// TestADeletionThatWasKilledLeavesAllOfTheRoomOrNothing kills a process at each call of a deletion.
// The next one removes what is left, and the power fails.
func TestADeletionThatWasKilledLeavesAllOfTheRoomOrNothing(t *testing.T) {
	on := func(p *simdisk.Process) *Storage {
		return New("/chat", p, func(time.Duration, error) {}, slog.New(slog.DiscardHandler))
	}
	path := data.RoomPath("#room")
	whole, gone := 0, 0
	for seed := range uint64(400) {
		d := simdisk.New(seed)
		p := d.Process()
		if err := errors.Join(p.Mkdir("/chat", 0o700), p.Mkdir("/chat/"+data.Rooms, 0o700), on(p).files().SyncDir("/"), on(p).RemoveLeftovers()); err != nil {
			t.Fatal(err)
		}
		l, err := on(p).OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one", "two"} {
			if _, err := l.Append([]log.Entry{{Time: time.Unix(1, 0), Body: ":ann!ann@host PRIVMSG #room :" + text}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(l.Close(), on(p).ReplaceFile(path+"/state", []byte("topic\n"))); err != nil {
			t.Fatal(err)
		}
		p.KillAt(int(seed%12)+1, simdisk.Random)
		_ = on(p).DeleteRoom("#room") // the process is killed
		p.Kill()
		if err := on(d.Process()).RemoveLeftovers(); err != nil {
			t.Fatal(err)
		}
		p = d.Crash().Process()
		if err := on(p).RemoveLeftovers(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stat("/chat/" + path); errors.Is(err, fs.ErrNotExist) {
			gone++
			continue
		}
		whole++
		if l, err = on(p).OpenLog(path); err != nil {
			t.Fatalf("seed %d: a part of the room is left: %v", seed, err)
		}
		lines, err := l.After(0, 10)
		texts := slices.Collect(func(yield func(string) bool) {
			for _, line := range lines {
				yield(string(line.Plain()))
			}
		})
		if err != nil || len(texts) != 2 {
			t.Fatalf("seed %d: got %q and error %v, want both messages", seed, texts, err)
		}
		l.Close()
	}
	if whole == 0 || gone == 0 {
		t.Errorf("got the room whole in %d cases and gone in %d, want both", whole, gone)
	}
}

func TestAStartWithoutRoomsRemovesWhatADeletionLeft(t *testing.T) {
	p := simdisk.New(1).Process()
	if err := errors.Join(p.Mkdir("/chat", 0o700), p.Mkdir("/chat/.deleted-1", 0o700), p.Mkdir("/chat/.deleted-1/room", 0o700)); err != nil {
		t.Fatal(err)
	}
	err := New("/chat", p, func(time.Duration, error) {}, slog.New(slog.DiscardHandler)).RemoveLeftovers()
	if entries, _ := p.ReadDir("/chat"); err != nil || len(entries) > 0 {
		t.Errorf("got error %v and %v left, want none", err, entries)
	}
}
