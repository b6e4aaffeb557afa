package core

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/data"
	"weir/chat/environment"
	"weir/chat/internal/storage"
	"weir/internal/disk"
	"weir/internal/disk/simdisk"
)

// disturb lets something go wrong, or get better.
func (w *world) disturb() {
	n := w.rng.IntN(12)
	w.trace("disturb %d", n)
	switch {
	case n == 0:
		w.disk.CrashAt(1 + w.rng.IntN(60))
	case n == 1:
		w.proc.KillAt(1+w.rng.IntN(60), simdisk.Random)
	case n == 2:
		w.stop()
		w.reopen()
	case n == 3:
		w.handOver()
	case n == 4:
		w.disk.SetFaults(simdisk.Faults{SyncFile: 0.1, SyncFolder: 0.1})
	case n == 5:
		w.disk.SetSpace(int64(w.rng.IntN(4000)))
	case n == 6 && len(w.chat.conns) > 0: // a client that does not read
		if c := w.chat.conns[w.rng.IntN(len(w.chat.conns))]; !c.ended {
			c.full = true
			w.linkOf(c).wasFull = true
		}
	default:
		w.calm()
	}
}

// calm ends the faults of the disk.
func (w *world) calm() {
	w.disk.SetFaults(simdisk.Faults{})
	w.disk.SetSpace(-1)
}

func (w *world) linkOf(c *conn) *link {
	return w.links[slices.IndexFunc(w.links, func(l *link) bool { return l.conn == c })]
}

// abandon forgets the core that has lost its disk. The outcome of unanswered commands is unknown.
func (w *world) abandon() {
	w.model.forget()
	chat := w.chat
	w.chat = nil
	chat.withLock(chat.StopTasks)
	chat.accounts.Close()
	w.forgetLinks()
}

// forgetLinks forgets the connections of a core that has ended.
func (w *world) forgetLinks() {
	for _, p := range w.persons {
		p.link = nil
	}
	w.links, w.asks = nil, nil
}

// restart starts a new core after a loss of power, or after the process was killed.
func (w *world) restart() {
	now := w.chat.clock
	w.abandon()
	w.loseDisk()
	w.open(now)
}

// loseDisk starts the disk again after a loss of power, or a new process of it.
func (w *world) loseDisk() {
	w.model.forget()
	if w.disk.Crashed() {
		w.trace("the power fails")
		w.disk = w.disk.Crash()
		for _, r := range w.model.logs {
			r.inDoubt, r.cut = slices.Concat(r.cut, r.inDoubt), nil
		}
		w.checkDisk(w.disk.Survivor())
	} else {
		w.trace("the process is killed")
		w.proc.Kill()
		w.disk.CrashAt(0)
	}
	w.calm()
	w.proc = w.disk.Process()
}

// rest takes steps until there is none, without time.
func (w *world) rest() {
	for n := 0; w.failure == "" && !w.hasEnded() && w.chat.step(); n++ {
		if w.drain(); n > 100_000 {
			w.failf("the core does not come to rest")
		}
	}
}

// stop stops the core as SIGTERM does.
func (w *world) stop() {
	w.trace("the core stops")
	chat := w.chat
	w.rest()
	for _, c := range slices.Clone(chat.conns) {
		c.end(ServerStops)
	}
	chat.withLock(func() { chat.BeginClosing() })
	w.rest()
	chat.withLock(chat.SaveReadMarkers)
}

// reopen closes the core that has stopped, and opens another one.
func (w *world) reopen() {
	if w.hasEnded() {
		return
	}
	chat := w.chat
	chat.withLock(chat.StopTasks)
	if err := chat.CloseLogs(func() {}); err != nil {
		w.trace("logs are not closed: %v", err)
	}
	if w.hasEnded() {
		return
	}
	w.abandon()
	w.proc.Kill()
	w.proc = w.disk.Process()
	w.open(chat.clock)
}

// handOver hands over to another core, unless work does not end.
func (w *world) handOver() {
	w.trace("handover")
	old := w.chat
	old.withLock(old.Freeze)
	for end := old.clock.Add(testTimeout); old.HasUnfinishedTasks(); {
		if w.failure != "" || w.hasEnded() {
			return
		}
		if !old.step() && !old.sleep(end) {
			w.failf("a freeze does not end")
		}
		w.drain()
	}
	if w.rng.IntN(4) == 0 {
		w.trace("the handover is undone")
		old.withLock(old.Thaw)
		return
	}
	w.move(old)
}

// move moves the connections of a frozen core to another one.
func (w *world) move(old *shell) {
	conns, states := old.conns, map[*conn][]byte{}
	for _, c := range conns {
		old.withLock(func() {
			state, output, ok := c.session.Move()
			if c.out = append(c.out, output...); ok && w.rng.IntN(8) > 0 {
				states[c] = state
			}
		})
	}
	var state []byte
	old.withLock(func() { state = old.EncodeState() })
	w.drain()
	old.conns = nil
	for _, c := range conns {
		if states[c] == nil {
			c.ended = true
			old.withLock(func() { c.session.Close(ServerStops) })
		}
	}
	old.withLock(func() { old.BeginClosing() })
	old.withLock(old.StopTasks)
	old.CloseLogs(func() {})
	if err := old.accounts.Close(); err != nil { // read markers are lost
		w.trace("the accounts are not closed: %v", err)
		for _, l := range w.links {
			l.wasFull = true
		}
	}
	if w.hasEnded() {
		return
	}
	w.proc.Kill()
	process := w.disk.Process()
	w.proc = process
	switch w.open(old.clock); {
	case w.failure != "":
	case w.proc != process: // which has died meanwhile, with all connections
		w.forgetLinks()
	default:
		w.resume(state, conns, states)
		w.followIDs(old)
	}
}

// followIDs lets the model follow rooms whose log has another id: in which nothing was ever stored.
func (w *world) followIDs(old *shell) {
	for name, r := range old.rooms {
		if id := w.idOf(name); id != "" && id != r.logID {
			w.model.shown[id] = w.model.shown[r.logID]
		}
	}
}

// resume lets a new core continue with the connections of another one.
func (w *world) resume(state []byte, conns []*conn, states map[*conn][]byte) {
	st, err := ReadState(state)
	if err != nil {
		w.failf("the state of a core cannot be read: %v", err)
		return
	}
	chat := w.chat
	if !w.runTask(func(t *Task) error { return chat.Restore(t, st) }) {
		w.loseLinks()
		return
	}
	chat.withLock(func() { chat.AwaitAdoptions(len(states)) })
	for _, c := range conns {
		if states[c] != nil {
			w.adopt(c, states[c])
		}
	}
	w.drain()
}

// adopt lets the new core continue with a connection.
func (w *world) adopt(c *conn, state []byte) {
	c.shell, c.session = w.chat, nil
	w.runTask(func(t *Task) error {
		c.session = w.chat.Adopt(t, c, state)
		return nil
	})
	if c.session == nil {
		c.ended = true
		return
	}
	w.chat.conns = append(w.chat.conns, c)
}

// loseLinks ends all connections of a handover that has failed.
func (w *world) loseLinks() {
	w.trace("the handover fails")
	for _, l := range w.links {
		l.ended = true
	}
	w.drain()
	w.stop()
	w.reopen()
}

// runTask runs a task to its end, and reports whether it succeeded.
func (w *world) runTask(run func(*Task) error) (ok bool) {
	ended := false
	w.start(run, func(err error) { ended, ok = true, err == nil })
	for end := w.chat.clock.Add(testTimeout); !ended && w.failure == "" && !w.hasEnded(); w.drain() {
		if !w.chat.step() && !w.chat.sleep(end) {
			w.failf("a task of the world does not end")
		}
	}
	return ok
}

// start starts a task. Done is called with its error when it has ended.
func (w *world) start(run func(*Task) error, done func(error)) {
	w.chat.withLock(func() {
		w.chat.StartTask(OrdinaryJobs, func(t *Task) { done(run(t)) }, done)
	})
}

// administer starts a change by an administrator.
func (w *world) administer() {
	room := w.someRoom()
	chat, token := w.chat, w.token()
	a := &ask{}
	var run func(*Task) error
	n := w.rng.IntN(6)
	switch n {
	case 0:
		topic := "about " + token
		a.properties = []string{"topic"}
		run = func(t *Task) error { return chat.ChangeRoom(t, room, RoomChange{Topic: &topic}) }
	case 1:
		key := ""
		a.properties = []string{"k"}
		run = func(t *Task) error { return chat.ChangeRoom(t, room, RoomChange{Key: &key}) }
	case 2:
		a.properties = []string{"o ann"}
		change := RoomChange{Ranks: map[string]string{"ann": []string{"+o", "-o"}[w.rng.IntN(2)]}}
		run = func(t *Task) error { return chat.ChangeRoom(t, room, change) }
	case 3:
		run = func(t *Task) error { return chat.DeleteRoom(t, room) }
	default:
		run = func(t *Task) error {
			chat.WithLog(t, data.RoomPath(room), func(open environment.Log, now time.Time) {
				if open != nil {
					open.Retain(0, 400, now)
				}
			})
			return nil
		}
	}
	w.trace("administrator %d of %s", n, room)
	w.asks = append(w.asks, a)
	w.start(run, func(err error) {
		w.trace("administrator %d of %s: %v", n, room, err)
		a.done = true
		if err == nil { // the lines say the same, if the room has members
			w.forgetProperties(a.properties)
		}
	})
}

// forgetProperties forgets what clients were shown of properties, in all rooms.
func (w *world) forgetProperties(properties []string) {
	for _, shown := range w.model.shown {
		for _, property := range properties {
			delete(shown, property)
		}
	}
}

// checkDisk checks that a disk has what was acknowledged.
func (w *world) checkDisk(d *simdisk.Disk) {
	d.SetSpace(-1)
	p := d.Process()
	files := storage.New(dataDir, p, func(time.Duration, error) {}, slog.New(slog.DiscardHandler))
	if err := files.RemoveLeftovers(); err != nil {
		w.failf("after a loss of power: %v", err)
		return
	}
	seen := map[string]bool{}
	for _, kind := range []string{data.Rooms, data.Direct} {
		entries, _ := p.ReadDir(filepath.Join(dataDir, kind))
		for _, e := range entries {
			if e.IsDir() {
				seen[w.checkFolder(files, kind+"/"+e.Name(), kind == data.Rooms)] = true
			}
		}
	}
	for _, id := range w.aliases {
		if r := w.model.logs[id]; r != nil && !seen[id] && len(r.entries) > 0 && !r.deleting && !r.deleted {
			w.failf("after a loss of power: the log %s is missing", w.alias(id))
		}
	}
	w.checkAccounts(p)
	w.checkErased(p, dataDir)
}

// checkFolder checks the folder of a conversation, and returns the id of its log.
func (w *world) checkFolder(files *storage.Storage, path string, isRoom bool) (id string) {
	l, err := files.OpenLog(path)
	if err != nil {
		w.failf("after a loss of power: %s: %v", path, err)
		return ""
	}
	defer l.Close()
	lines, err := l.After(0, maxLines)
	if err != nil {
		w.failf("after a loss of power: %s: %v", path, err)
	}
	r := w.model.log(l.ID())
	w.model.compareLog(r, lines, slices.Concat(r.cut, r.inDoubt))
	if isRoom && !r.deleting {
		contents, err := files.ReadFile(path + "/state")
		if err != nil {
			w.failf("after a loss of power: %s: %v", path, err)
		}
		st := ParseRoomState(data.NameOf(filepath.Base(path)), contents, epoch)
		w.model.compareState(l.ID(), &st, path+"/state")
	}
	return l.ID()
}

// checkAccounts checks accounts, bans and read markers.
func (w *world) checkAccounts(p *simdisk.Process) {
	store, err := account.Open(dataDir, account.Options{Disk: p, Iterations: 4096, MarkerInterval: time.Hour})
	if err != nil {
		w.failf("after a loss of power: %v", err)
		return
	}
	defer store.Close()
	for pattern, want := range w.model.bans {
		got := slices.ContainsFunc(store.Bans(), func(b account.Ban) bool { return b.Pattern == pattern })
		if want != unsure && got != (want == yes) {
			w.failf("after a loss of power: got the ban of %s there %v, want %v", pattern, got, !got)
		}
	}
	for key, want := range w.model.markers {
		if got, _ := store.ReadMarker(key.account, account.SharedDevice, key.log); got < want {
			w.failf("after a loss of power: got the read marker %d of %s in %s, want %d", got, key.account, w.alias(key.log), want)
		}
	}
}

// checkErased checks that the texts of deleted messages and rooms are gone.
func (w *world) checkErased(p *simdisk.Process, dir string) {
	entries, _ := p.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		if e.IsDir() {
			w.checkErased(p, path)
			continue
		}
		contents, _ := disk.ReadFile(p, path)
		for line := range strings.Lines(string(contents)) {
			e := w.model.entries[tokenOf(line)]
			if e != nil && e.at > 0 && e.command != "TOPIC" && (e.redaction == yes || e.room.deleted) {
				w.failf("the file %s has %s, which was deleted: %q", path, e.token, line)
			}
		}
	}
}
