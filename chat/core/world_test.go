package core

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// world is a whole chat by seed: persons, administrators, a disk that fails and loses power, and
// the core between them. The seed chooses what each person does, which step is next, and how time
// passes.
type world struct {
	t       testing.TB
	seed    uint64
	rng     *rand.Rand
	disk    *simdisk.Disk
	proc    *simdisk.Process
	chat    *shell
	model   *model
	persons []*person
	links   []*link // of this run of the core, the ended ones included
	asks    []*ask  // changes by administrators that are under way
	events  int     // number of events so far
	tokens  int     // number of tokens so far
	aliases []string
	failure string
	traced  []string
}

// ask is a change by an administrator.
type ask struct {
	properties []string
	done       bool
}

const worldPassword = "correct-horse"

// The world's rooms at first. Renames add some.
var worldRooms = []string{"#a", "#b", "#c"}

// someRoom returns the name of a room: in every second world usually that of the first one.
func (w *world) someRoom() string {
	if w.seed%2 == 0 && w.rng.IntN(5) > 0 {
		return worldRooms[0]
	}
	return worldRooms[w.rng.IntN(len(worldRooms))]
}

// accountFile holds the accounts of all worlds: their hashes take time.
var accountFile []byte

// worldAccounts are the accounts of all worlds.
var worldAccounts = []string{"ann", "bob", worldOperator}

// worldOperator is the account of a server operator.
const worldOperator = "eve"

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 2)), disk: simdisk.New(seed)}
	w.model = newModel(w)
	for i, name := range []string{"ann", "ann", "bob", "bob", "eve", "gus", "hal"} {
		p := &person{w: w, name: name, device: string(rune('1' + i)), level: w.rng.IntN(len(capsOf)), has: map[string]bool{}}
		if slices.Contains(worldAccounts, name) {
			p.account = name
		}
		w.persons = append(w.persons, p)
	}
	w.proc = w.disk.Process()
	files := durable.Files{Disk: w.proc}
	if err := files.MkdirAll(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := files.ReplaceFile(dataDir+"/accounts", accountFile, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs the world, and returns what was wrong, "" if nothing.
func (w *world) run() (failure string) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	w.open(epoch)
	for range 300 + w.rng.IntN(700) {
		w.turn()
		if w.failure != "" {
			return w.failure
		}
	}
	w.finish()
	return w.failure
}

func (w *world) failf(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.trace("FAILURE %s", w.failure)
	}
}

func (w *world) trace(format string, args ...any) {
	w.traced = append(w.traced, fmt.Sprintf("%d %s", w.events, fmt.Sprintf(format, args...)))
}

// event returns the number of a new event.
func (w *world) event() int { w.events++; return w.events }

// token returns a new token.
func (w *world) token() string { w.tokens++; return fmt.Sprintf("<%d>", w.tokens) }

// alias returns a name for a log: its id is random.
func (w *world) alias(id string) string {
	i := slices.Index(w.aliases, id)
	if i < 0 {
		i = len(w.aliases)
		w.aliases = append(w.aliases, id)
	}
	return fmt.Sprintf("log%d", i)
}

// mask returns a line without its tags and without random ids.
func (w *world) mask(line string) string {
	if line[0] == '@' {
		_, line, _ = strings.Cut(line, " ")
	}
	if words := strings.SplitN(line, " ", 3); len(words) == 3 && slices.Contains([]string{"322", "352", "353"}, words[1]) {
		return words[1] // lists of users and rooms have no order
	}
	for i, id := range w.aliases {
		line = strings.ReplaceAll(line, id, fmt.Sprintf("log%d", i))
	}
	return line
}

// hasEnded reports whether the disk does not answer any more.
func (w *world) hasEnded() bool {
	_, err := w.proc.Stat("/")
	return err != nil
}

// worldOptions are those of all cores.
func (w *world) worldOptions() Options {
	return Options{Disk: w.proc, Registration: account.RegistrationOpen, CommandsPerSecond: -1, NoSearch: true, Log: slog.New(&panicHandler{w: w})}
}

// panicHandler is a log handler by which a world learns of panics in tasks.
type panicHandler struct {
	slog.Handler
	w *world
}

func (h *panicHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *panicHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" && strings.Contains(a.Value.String(), "panic:") {
			h.w.failf("%s: %s", r.Message, a.Value)
		}
		return true
	})
	if h.w.chat != nil {
		h.w.trace("log: %s", h.w.mask(r.Message))
	}
	return nil
}

// open starts a core at a time, again if the disk fails meanwhile.
func (w *world) open(now time.Time) {
	for w.failure == "" {
		chat, err := openTappedShell(w.t, w.worldOptions(), now, w.tap)
		if err == nil && !w.hasEnded() {
			chat.random = w.rng
			w.chat = chat
			return
		}
		w.trace("the core does not start: %v", err)
		if chat != nil {
			chat.accounts.Close()
		}
		w.loseDisk()
	}
}

// turn lets something happen.
func (w *world) turn() {
	if w.hasEnded() {
		w.restart()
		return
	}
	switch n := w.rng.IntN(200); {
	case n < 50:
		w.persons[w.rng.IntN(len(w.persons))].act()
	case n < 65:
		if l := w.persons[w.rng.IntN(len(w.persons))].link; l != nil {
			l.read()
		}
	case n < 72: // jobs take time
		w.chat.sleep(w.chat.clock.Add(time.Duration(w.rng.IntN(50)) * time.Millisecond))
	case n < 76:
		w.disturb()
	case n < 79:
		w.administer()
	case n < 80:
		w.checkDisk(w.disk.Survivor())
	default:
		for range 1 + w.rng.IntN(8) {
			w.step()
		}
		return
	}
	w.drain()
}

// step takes a step of the core, or lets time pass when there is none.
func (w *world) step() {
	if w.hasEnded() {
		return
	}
	if !w.chat.step() {
		d := time.Duration(w.rng.IntN(2000)) * time.Millisecond
		if w.rng.IntN(30) == 0 {
			d = 3 * time.Minute
		}
		w.chat.sleep(w.chat.clock.Add(d))
	}
	w.drain()
}

// drain hands the lines that the core has sent to the persons. When the power has failed, they are
// lost, and have no meaning.
func (w *world) drain() {
	if w.hasEnded() {
		return
	}
	for _, l := range w.links {
		l.hungUp = l.hungUp || l.refused
		for w.failure == "" && !l.closed && !l.refused { // otherwise output is lost
			line, rest, ok := bytes.Cut(l.out, []byte("\r\n"))
			if !ok {
				break
			}
			l.out = rest
			w.event()
			l.handle(string(line))
		}
		l.unacked = len(l.flight) > 0 || l.refused || l.closed // then output is lost
		if l.ended && l.p.link == l {
			l.p.link = nil
			w.trace("%s is offline", l.p.id())
		}
	}
}

// personNamed returns a person with a nick, or nil.
func (w *world) personNamed(nick string) *person {
	for _, p := range w.persons {
		if p.name == irc.Fold(nick) {
			return p
		}
	}
	return nil
}

// idOf returns the id of an open room's log, "" if it is not open.
func (w *world) idOf(room string) string {
	if r := w.chat.rooms[irc.Fold(room)]; r != nil {
		return r.logID
	}
	return ""
}

// isIn reports whether a person is in the room of a log.
func (w *world) isIn(p *person, r *roomLog) bool {
	if u := w.chat.users[p.name]; u != nil {
		for room := range u.rooms {
			if room.logID == r.id {
				return true
			}
		}
	}
	return false
}

// observe handles a MODE or TOPIC line of a room.
func (w *world) observe(m *irc.Message) {
	id := w.idOf(m.Params[0])
	if id == "" {
		return
	}
	w.model.show(id, m)
	if m.Command == "MODE" && strings.Contains(m.Params[1], "-") || strings.Contains(m.Params[1], "v") || strings.Contains(m.Params[1], "o") {
		for _, l := range w.links {
			for _, c := range l.commands {
				c.silenced = false
			}
		}
	}
}

// observeJoin checks that a guest that has joined was allowed to.
func (w *world) observeJoin(room, nick string) {
	id, p := w.idOf(room), w.personNamed(nick)
	if id == "" || p == nil || p.account != "" {
		return
	}
	for _, rank := range []string{"o ", "v "} {
		delete(w.model.shown[id], rank+nick)
	}
	if p.link == nil || p.invited {
		return
	}
	why := ""
	for _, c := range p.link.commands { // any of them may have been the one
		if c.kind == "JOIN" && irc.Fold(c.room) == irc.Fold(room) {
			if why = w.model.mustRefuse(id, nick, c.key); why == "" {
				return
			}
		}
	}
	if why != "" {
		w.failf("%s joined %s, want it refused: %s", nick, room, why)
	}
}

// isSilenced reports whether a person may not speak in a room.
func (w *world) isSilenced(p *person, room string) bool {
	id := w.idOf(room)
	return id != "" && (w.model.isShown(id, "m", "+") || w.model.isShown(id, "b "+p.name+"!*@*", "+"))
}

// isAsked reports whether a command or an administrator without an answer may change a property.
func (w *world) isAsked(property string) bool {
	for _, a := range w.asks {
		if !a.done && slices.Contains(a.properties, property) {
			return true
		}
	}
	for _, l := range w.links {
		if slices.ContainsFunc(l.commands, func(c *command) bool { return c.property == property }) {
			return true
		}
	}
	return false
}
