package chat

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/disk"
	"weir/serve"
)

// hangingDisk is the system's disk on which syncs of one room wait until it works again.
type hangingDisk struct {
	disk.FS
	room  string // part of the path
	hangs sync.WaitGroup
	once  sync.Once
	// closed by the first sync that waits; without values
	waits chan struct{}
}

func (d *hangingDisk) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	f, err := d.FS.OpenFile(name, flag, mode)
	if err != nil || !strings.Contains(name, d.room) {
		return f, err
	}
	return hangingFile{f, d}, nil
}

type hangingFile struct {
	disk.File
	disk *hangingDisk
}

func (f hangingFile) Datasync() error {
	f.disk.once.Do(func() { close(f.disk.waits) })
	f.disk.hangs.Wait()
	return f.File.Datasync()
}

// A disk that does not answer must not keep the server from stopping.
func TestTheServerStopsWhileADiskHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the deadlines of Close: 12 seconds")
	}
	d := &hangingDisk{FS: disk.System, room: "#hangs", waits: make(chan struct{})}
	s := startServer(t, serve.Goroutine, Options{Disk: d}).run()
	ann := s.user("ann")
	ann.send("JOIN #hangs")
	ann.until(" 366 ann #hangs ")
	d.hangs.Add(1)
	defer d.hangs.Done()
	ann.send("PRIVMSG #hangs :never stored")
	<-d.waits
	chat := s.chat
	s.chat = nil
	s.stop()
	if err := <-s.runDone; err != nil {
		t.Errorf("serve.Run: got %v, want nil", err)
	}
	closed := make(chan error, 1)
	go func() { closed <- chat.Close() }()
	select {
	case err := <-closed:
		if !errors.Is(err, errDiskHangs) {
			t.Errorf("Close: got %v, want %v", err, errDiskHangs)
		}
	case <-time.After(testTimeout):
		t.Errorf("Close: still waits after %v, want an error", testTimeout)
	}
}
