package core

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/internal/disk"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
	"weir/internal/testsize"
)

// sortedRooms returns the rooms that a connection is in, sorted.
func (w *world) sortedRooms(l *link) (names []string) {
	for name := range l.rooms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// answerLimit is how long answers may take when no fault is left: PING and the limits of a freeze.
const answerLimit = 2 * time.Minute

// finish ends all faults, and checks that all commands were answered, that all persons have seen
// everything, and that nothing is left when all have left.
func (w *world) finish() {
	w.disk.CrashAt(0)
	w.proc.KillAt(0, simdisk.Random)
	if w.hasEnded() {
		w.restart()
	}
	w.calm()
	w.readAll()
	w.requestHistories()
	w.readAll()
	w.checkAnswers()
	w.checkSeen()
	if fault := w.chat.restFault(); fault != "" {
		w.failf("%s", fault)
	}
	w.checkDisk(w.disk.Survivor())
	w.leave()
}

// readAll lets all clients read until all commands are answered.
func (w *world) readAll() {
	for end := w.chat.clock.Add(answerLimit); w.failure == "" && w.chat.clock.Before(end); {
		w.rest()
		for _, l := range w.links {
			if l.read(); l.p.link != l { // an older connection of the same device
				l.hungUp = true
			}
		}
		w.rest()
		w.chat.sleep(w.chat.clock.Add(10 * time.Second))
		w.drain()
	}
	w.rest()
}

// checkAnswers checks that all commands of connections that are open were answered.
func (w *world) checkAnswers() {
	for _, l := range w.links {
		if !l.ended && !l.hungUp && (len(l.commands) > 0 || !l.online) {
			l.fail("got no answer to %d commands (registered: %v), want one in %v", len(l.commands), l.online, answerLimit)
		}
	}
	if w.chat.HasUnfinishedTasks() {
		w.failf("got %d tasks that do not end, want none", len(w.chat.tasks))
	}
}

// requestHistories lets the clients that get no replay request one of all that they may read.
func (w *world) requestHistories() {
	for _, p := range w.persons {
		if p.link == nil || p.link.hungUp || p.level < chathistory {
			continue
		}
		targets := w.sortedRooms(p.link)
		if p.account != "" {
			targets = append(targets, worldAccounts...)
		}
		for _, target := range targets {
			p.link.run(&command{kind: "CHATHISTORY", room: target, text: "CHATHISTORY LATEST " + target + " * 1000"})
		}
	}
}

// checkSeen checks that all persons have seen all lines of their conversations.
func (w *world) checkSeen() {
	for _, p := range w.persons {
		l := p.link
		if l == nil || l.ended || l.hungUp {
			continue
		}
		u := w.chat.users[p.name]
		if u == nil || len(u.rooms) != len(l.rooms) {
			l.fail("got %q as its rooms, want those of the core: %v", w.sortedRooms(l), u)
			return
		}
		for _, id := range w.aliases {
			if r := w.model.logs[id]; r != nil && p.reads(r) {
				p.checkSeen(r)
			}
		}
	}
}

// reads reports whether a person is in the conversation of a log.
func (p *person) reads(r *roomLog) bool {
	for _, name := range p.w.sortedRooms(p.link) {
		if p.w.idOf(name) == r.id {
			return true
		}
	}
	for _, f := range p.w.chat.directs {
		if f.logID == r.id && !p.w.model.unopened[f.path()] && p.account != "" && slices.Contains(f.accounts[:], p.account) {
			return true
		}
	}
	return false
}

// seenTail is how many of the last lines of a log a person must have seen: the server replays no
// more to some.
const seenTail = 45

func (p *person) checkSeen(r *roomLog) {
	if r.retaining || p.link.hasGap { // it is unknown which lines are there, or were sent
		return
	}
	for _, e := range r.entries[max(0, len(r.entries)-seenTail):] {
		nick, _, _ := strings.Cut(e.source, "!")
		own := irc.Fold(nick) == p.name && p.level < labels
		if e.command == "PRIVMSG" && e.redaction == no && e.offset >= r.first && !own && !p.link.sent[e.token] && !p.has[e.token] {
			p.link.fail("got no %s of %s, want all lines of it", e.token, p.w.alias(r.id))
		}
	}
}

// leave lets all persons leave, and checks that nothing of them is left.
func (w *world) leave() {
	for _, l := range w.links {
		l.hungUp = true
	}
	w.rest()
	chat := w.chat
	for end := chat.clock.Add(10 * time.Minute); chat.clock.Before(end) && w.failure == ""; {
		w.rest()
		chat.sleep(chat.clock.Add(time.Minute))
	}
	w.rest()
	if w.failure != "" {
		return
	}
	if n := len(chat.users) + len(chat.networks) + len(chat.monitors) + len(chat.rooms) + len(chat.directs) + len(chat.tasks) + chat.sessionCount + chat.unregisteredCount; n > 0 {
		w.failf("after all have left: got %d users, %d networks, %d monitored nicks, %d rooms, %d direct conversations, %d tasks and %d sessions, want none",
			len(chat.users), len(chat.networks), len(chat.monitors), len(chat.rooms), len(chat.directs), len(chat.tasks), chat.sessionCount)
	}
	w.stop()
	chat.withLock(chat.StopTasks)
	chat.CloseLogs(func() {})
	chat.accounts.Close()
}

// restFault returns an inconsistency of a core at rest, "" if there is none.
func (s *shell) restFault() string {
	for _, r := range s.rooms {
		if r.committing || len(r.pending) > 0 || r.stateDirty || r.renaming || r.joinsUnderWay != 0 || r.delivery != nil || len(r.idleWaiters)+len(r.deliveryWaiters) > 0 {
			return fmt.Sprintf("%s is at rest, and committing: %v, pending: %d, dirty: %v, renaming: %v, joins: %d", r.name, r.committing, len(r.pending), r.stateDirty, r.renaming, r.joinsUnderWay)
		}
		for _, sub := range r.subscriptions {
			if sub.state != live || sub.sentUpTo != r.deliveredOffset || sub.session.user.rooms[r] == nil {
				return fmt.Sprintf("%s at rest has a subscription in state %d at %d, want it live at %d", r.name, sub.state, sub.sentUpTo, r.deliveredOffset)
			}
		}
	}
	return ""
}

// makeAccountFile makes the accounts of all worlds.
func makeAccountFile() error {
	d := simdisk.New(1).Process()
	if err := (durable.Files{Disk: d}).MkdirAll(dataDir, 0o700); err != nil {
		return err
	}
	store, err := account.Open(dataDir, account.Options{Disk: d, Iterations: 4096})
	if err != nil {
		return err
	}
	defer store.Close()
	for _, name := range worldAccounts {
		role := account.Member
		if name == worldOperator {
			role = account.Operator
		}
		if _, err := store.Add(name, worldPassword, role, false); err != nil {
			return err
		}
	}
	accountFile, err = disk.ReadFile(d, dataDir+"/accounts")
	return err
}

// TestWorldsKeepWhatTheyAcknowledge runs worlds by seed.
//
//	WEIR_CORE_WORLDS=10000 go test -run TestWorldsKeepWhatTheyAcknowledge ./chat/core
//	WEIR_FIRST_WORLD=16 WEIR_CORE_WORLDS=1 go test -v -run TestWorldsKeep ./chat/core
func TestWorldsKeepWhatTheyAcknowledge(t *testing.T) {
	if err := makeAccountFile(); err != nil {
		t.Fatal(err)
	}
	first, seeds := testsize.Of(t, "WEIR_FIRST_WORLD", 1), testsize.Of(t, "WEIR_CORE_WORLDS", 200)
	parts := worldsAtOnce()
	for part := range parts {
		t.Run(fmt.Sprintf("part %d", part), func(x *testing.T) {
			x.Parallel()
			for i := part; i < seeds && !t.Failed(); i += parts {
				runWorld(x, uint64(first+i), seeds == 1)
			}
		})
	}
}

// runWorld runs the world of a seed. It shows the end of its trace if it fails, or all of it.
func runWorld(t *testing.T, seed uint64, showAll bool) {
	w := newWorld(t, seed)
	failure := w.run()
	if failure != "" {
		t.Errorf("found by seed %d: %s", seed, failure)
	}
	switch shown := w.traced[max(0, len(w.traced)-40):]; {
	case showAll:
		t.Logf("seed %d:\n%s", seed, strings.Join(w.traced, "\n"))
	case failure != "":
		t.Logf("seed %d:\n%s", seed, strings.Join(shown, "\n"))
	}
}

// worldsAtOnce returns how many worlds run at once: one if the first seed that fails counts
// (package internal/worlds/planted).
func worldsAtOnce() int {
	if os.Getenv("WEIR_WORLDS_PLANTED") != "" {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// The same seed makes the same world.
func TestWorldsAreRepeatable(t *testing.T) {
	if err := makeAccountFile(); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(5) {
		a, b := newWorld(t, seed), newWorld(t, seed)
		a.run()
		b.run()
		x, y := []byte(strings.Join(a.traced, "\n")), []byte(strings.Join(b.traced, "\n"))
		if !bytes.Equal(x, y) {
			for i := range a.traced {
				if i >= len(b.traced) || a.traced[i] != b.traced[i] {
					t.Errorf("seed %d: line %d: got %q, want %q", seed, i, b.traced[min(i, len(b.traced)-1)], a.traced[i])
					break
				}
			}
		}
	}
}
