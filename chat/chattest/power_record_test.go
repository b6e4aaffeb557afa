//go:build linux

package chattest

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"testing"

	"weir/chat/account"
	"weir/internal/crashdisk"
)

const (
	powerTalkers  = 3
	powerInFlight = 2 // unacknowledged messages of each talker
)

// powerRun is a server on a disk, with what it acknowledged and what the disk was given.
type powerRun struct {
	*stateServer
	disk  *powerDisk
	items []*item
	*ledger
	start   int // position from which on the power may go
	written *crashdisk.Recording
	order   []string // all messages in the room's order
	padded  int      // power losses that left zeros at the end of a segment
}

// ledger is what was acknowledged, with the position of the disk's recording at that time: a power
// loss there or later must leave it.
type ledger struct {
	disk *powerDisk

	mu       sync.Mutex
	messages map[string]int   // by text
	changes  map[string][]int // by item: the position of change number 1, 2, 3...
}

func (l *ledger) message(text string) {
	at := l.disk.Position()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.messages[text]; !known {
		l.messages[text] = at
	}
}

func (l *ledger) change(it *item) {
	at := l.disk.Position()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes[it.name] = append(l.changes[it.name], at)
}

// acknowledged returns how many changes of an item were acknowledged at a position.
func (l *ledger) acknowledged(it *item, position int) int {
	return sort.SearchInts(l.changes[it.name], position+1)
}

// newPowerRun mounts a new file system and starts a server on it.
func newPowerRun(t *testing.T, p *program, f *fileSystem) *powerRun {
	t.Helper()
	d := newPowerDisk(t, f)
	r := &powerRun{disk: d, ledger: &ledger{disk: d, messages: map[string]int{}, changes: map[string][]int{}}}
	r.stateServer = &stateServer{server: &server{program: p, data: t.TempDir()}}
	r.account(t, "ann", statePassword, account.Operator)
	r.account(t, "bob", statePassword, account.Member)
	r.extraFlags = powerFlags(t, p)
	if r.items = r.stateServer.items(); p.command[0] != "weir" {
		r.items = slices.DeleteFunc(r.items, func(it *item) bool { return it.name != "topic" && it.name != "direct message" })
	}
	d.Record()
	data := filepath.Join(d.folder, "data")
	for _, err := range []error{d.mount(), runCommand("cp", "-a", r.data, data), runCommand("sync", "-f", d.folder)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.data = data
	t.Cleanup(func() {
		if err := r.kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() && r.stderr != nil {
			t.Logf("standard error of %s:\n%s", p.name, r.stderr)
		}
		runCommand("umount", d.folder) //nolint:errcheck // it is mounted only if the test has failed
	})
	return r
}

// record runs the server until the disk has been flushed often enough, and kills it.
func (r *powerRun) record(t *testing.T, flushes int) {
	t.Helper()
	r.mustRun(t)
	discard(r.logIn(t, "bob", "bob", stateRoom))
	var workers []func(acknowledged func())
	for _, it := range r.items {
		it.client = r.logIn(t, "ann", it.device(), it.room)
		workers = append(workers, r.changeAll(t, it))
	}
	for i := range powerTalkers {
		workers = append(workers, r.talkOn(t, i))
	}
	r.start, flushes = r.disk.Position(), flushes+r.disk.Flushed()
	workUntilKilled(t, r.server, 1, 0, workers, func(work func(func()), acknowledged func()) {
		work(func() {
			if r.disk.Flushed() >= flushes {
				acknowledged()
			}
		})
	})
	r.written = r.disk.Recorded()
	for _, it := range r.items {
		it.client.conn.Close()
	}
	r.mustRun(t)          // without a power loss: nothing that was written is lost
	readRoom(t, r.server) // the first join makes the server repair the log
	r.order = roomTexts(t, &server{data: r.copyData(t)}, crashRoom)
	if err := r.kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.disk.unmount(); err != nil {
		t.Fatal(err)
	}
}

// changeAll changes an item until the connection is lost.
func (r *powerRun) changeAll(t *testing.T, it *item) func(func()) {
	return func(acknowledged func()) {
		for it.change(r.stateServer, it) {
			if it.refused != "" {
				t.Errorf("%s: change number %d was refused with %q, want it acknowledged", it.name, it.sent, it.refused)
				return
			}
			r.ledger.change(it)
			acknowledged()
		}
	}
}

// talkOn sends messages, a few ahead of the acknowledged ones, until the connection is lost.
func (r *powerRun) talkOn(t *testing.T, number int) func(func()) {
	c := &talker{echo: number%2 == 0, heard: r.message}
	capabilities := []string{"draft/chathistory"}
	if c.echo {
		capabilities = append(capabilities, "echo-message")
	}
	c.client = r.guest(t, fmt.Sprintf("talker%d", number), capabilities...)
	c.join(t, crashRoom)
	return func(acknowledged func()) {
		for {
			for len(c.unacknowledged) < powerInFlight {
				if c.say() != nil {
					c.listen(acknowledged)
					return
				}
			}
			if !c.hear(acknowledged) {
				return
			}
		}
	}
}

// copyData copies the data directory from the disk, so that this process may read it. The server
// runs: a file that it replaces or removes meanwhile ends the copy, which is then repeated.
func (r *powerRun) copyData(t *testing.T) string {
	t.Helper()
	const attempts = 10
	var err error
	for range attempts {
		folder := filepath.Join(t.TempDir(), "copy")
		if err = runCommand("cp", "-a", filepath.Join(r.disk.folder, "data"), folder); err == nil {
			return folder
		}
	}
	t.Fatal(err)
	return ""
}
