package account

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/disk"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
	"weir/internal/testsize"
)

// TestPowerLossLosesNoAcknowledgedChange changes accounts, bans, invites and read markers on
// simulated disks that lose power, and whose processes are killed, at any call. A seed is one data
// directory.
func TestPowerLossLosesNoAcknowledgedChange(t *testing.T) {
	first := testsize.Of(t, "WEIR_FIRST_ACCOUNT_SEED", 1)
	for seed := range uint64(testsize.Of(t, "WEIR_ACCOUNT_POWER_SEEDS", 40)) {
		w := newPowerWorld(uint64(first) + seed)
		if err := w.run(); err != nil {
			t.Fatalf("seed %d: %v\n%s", uint64(first)+seed, err, strings.Join(w.trace, "\n"))
		}
	}
}

// snapshot is what a Store shows, without read markers.
type snapshot map[string]string

// marker is an acknowledged read marker, and how far calls without an answer moved it.
type marker struct{ saved, tried int64 }

// powerWorld is a data directory on a disk, and what it must have.
type powerWorld struct {
	rng   *rand.Rand
	disk  *simdisk.Disk
	proc  *simdisk.Process
	store *Store
	trace []string

	state   snapshot           // acknowledged, or seen after a start
	allowed []snapshot         // states that calls without success would have led to
	markers map[string]*marker // of the shared device, by account
	codes   []string           // of invites
	step    int64
}

func newPowerWorld(seed uint64) *powerWorld {
	w := &powerWorld{rng: rand.New(rand.NewPCG(seed, 1)), disk: simdisk.New(seed), state: snapshot{}, markers: map[string]*marker{}}
	_ = (durable.Files{Disk: w.disk.Process()}).MkdirAll("/data/metadata", 0o700)
	return w
}

func (w *powerWorld) note(format string, a ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, a...))
}

// run starts the Store some times. Each run ends by a loss of power, a kill or a close.
func (w *powerWorld) run() error {
	for range 8 {
		w.proc = w.disk.Process()
		if w.rng.IntN(3) > 0 {
			w.scheduleEnd()
		}
		if err := w.start(); err != nil && !w.ended() {
			return err
		}
		for range w.rng.IntN(20) {
			if w.ended() {
				break
			}
			if err := w.change(); err != nil {
				return err
			}
		}
		w.stop()
	}
	w.proc = w.disk.Process()
	return w.start()
}

func (w *powerWorld) scheduleEnd() {
	n := 1 + w.rng.IntN(80)
	if w.rng.IntN(2) == 0 {
		w.note("the power fails in %d calls", n)
		w.disk.CrashAt(n)
	} else {
		w.note("the process is killed in %d calls", n)
		w.proc.KillAt(n, simdisk.Random)
	}
}

// ended reports whether all calls of the process fail.
func (w *powerWorld) ended() bool {
	_, err := w.proc.Stat("/")
	return err != nil
}

func (w *powerWorld) stop() {
	w.disk.CrashAt(0)
	w.disk.SetFaults(simdisk.Faults{})
	w.disk.SetSpace(-1)
	switch how := w.rng.IntN(3); {
	case how == 0 || w.disk.Crashed():
		w.note("loss of power")
		w.disk = w.disk.Crash()
	case how == 1 || w.store == nil:
		w.note("kill")
		w.proc.Kill()
	default:
		w.note("close: %v", w.store.Close())
		w.proc.Kill()
	}
}

// start opens the Store and compares it. From then on it must have what was seen.
func (w *powerWorld) start() error {
	o := Options{Iterations: minIterations, MarkerInterval: time.Hour, Disk: w.proc, Registration: RegistrationOpen}
	var err error
	if w.store, err = Open("/data", o); err != nil {
		return fmt.Errorf("Open: got %w, want the accounts to open", err)
	}
	w.note("open")
	return w.compare()
}

// compare compares what the Store shows with the acknowledged state, and with those that calls
// without success would have led to.
func (w *powerWorld) compare() error {
	got, err := see(w.store)
	if w.ended() {
		return nil
	}
	if err != nil {
		return err
	}
	for _, problem := range w.store.Problems() {
		return fmt.Errorf("a damaged line: %w", problem)
	}
	for _, file := range []string{"account ", "ban ", "invite "} {
		same := func(s snapshot) bool { return maps.Equal(s.of(file), got.of(file)) }
		if !same(w.state) && !slices.ContainsFunc(w.allowed, same) {
			return fmt.Errorf("got %v, want %v or one of %v", got, w.state, w.allowed)
		}
	}
	w.state, w.allowed = got, nil
	for name, m := range w.markers {
		offset, ok := w.store.ReadMarker(name, SharedDevice, "room")
		if w.ended() {
			return nil
		}
		if ok && offset > m.tried || offset < m.saved {
			return fmt.Errorf("the read marker of %s: got %d, want %d, which was acknowledged, to %d", name, offset, m.saved, m.tried)
		}
		*m = marker{offset, max(offset, m.tried)} // a refused one may come back
	}
	return nil
}

// of returns the part of a snapshot that one file has.
func (s snapshot) of(file string) snapshot {
	out := snapshot{}
	for key, value := range s {
		if strings.HasPrefix(key, file) {
			out[key] = value
		}
	}
	return out
}

// see returns what a Store shows.
func see(s *Store) (snapshot, error) {
	out := snapshot{}
	for _, a := range s.currentAccounts().names {
		out["account "+a.Name] = describe(a.Role, a.Certs, a.Removed)
	}
	for _, b := range s.Bans() {
		out["ban "+b.Pattern] = b.Reason
	}
	invites, err := s.Invites()
	for _, i := range invites {
		out["invite "+i.ID] = ""
	}
	return out, err
}

func describe(role Role, certs []string, removed bool) string {
	return fmt.Sprintf("%s %v %v", role, certs, removed)
}

func (w *powerWorld) name() string { return []string{"ann", "bob", "cid"}[w.rng.IntN(3)] }

// has reports whether an account exists, or existed.
func (w *powerWorld) has(name string) (exists, removed bool) {
	state, ok := w.state["account "+name]
	return ok && !strings.HasSuffix(state, "true"), ok
}

// change makes a call, or lets the disk be bad for a while.
func (w *powerWorld) change() error {
	w.step++
	switch n := w.rng.IntN(24); {
	case n < 3:
		return w.register()
	case n < 5:
		return w.setRole()
	case n < 7:
		return w.ban()
	case n < 9:
		return w.invite()
	case n < 10:
		return w.remove()
	case n < 17:
		return w.mark()
	case n < 21:
		f := simdisk.Faults{SyncFile: 0.4 * w.rng.Float64(), SyncFolder: 0.4 * w.rng.Float64()}
		w.note("faults %+v", f)
		w.disk.SetFaults(f)
	case n < 22:
		free := w.rng.Int64N(3000)
		w.note("%d bytes free", free)
		w.disk.SetSpace(free)
	default:
		w.note("no faults")
		w.disk.SetFaults(simdisk.Faults{})
		w.disk.SetSpace(-1)
	}
	return nil
}

// try makes a change that leads to a state, and compares.
func (w *powerWorld) try(what string, after snapshot, do func() error) error {
	err := do()
	w.note("%s: %v", what, err)
	if err != nil {
		w.allowed = append(w.allowed, after)
		return nil
	}
	w.state, w.allowed = after, nil
	got, err := see(w.store)
	if w.ended() {
		return nil
	}
	if err != nil || !maps.Equal(got, w.state) {
		return fmt.Errorf("after %s: got %v and error %v, want %v", what, got, err, w.state)
	}
	return nil
}

// with returns the state with a change; "" removes a key.
func (w *powerWorld) with(key, value string) snapshot {
	s := maps.Clone(w.state)
	s[key] = value
	return s
}

func (w *powerWorld) without(key string) snapshot {
	s := maps.Clone(w.state)
	delete(s, key)
	return s
}

// register adds an account, with an invite if there is one.
func (w *powerWorld) register() error {
	name := w.name()
	if _, removed := w.has(name); removed {
		return nil
	}
	after := w.with("account "+name, describe(Member, nil, false))
	code := ""
	if len(w.codes) > 0 {
		code = w.codes[0]
		delete(after, "invite "+hashCode(code)[:12])
		w.codes = w.codes[1:]
		_ = w.store.SetRegistration(RegistrationByInvite)
		defer func() { _ = w.store.SetRegistration(RegistrationOpen) }()
	}
	if _, known := w.state["invite "+hashCode(code)[:12]]; code != "" && !known {
		return nil // an unanswered NewInvite
	}
	return w.try("register "+name+" "+code, after, func() error {
		_, err := w.store.Register(name, "correct horse", code)
		return err
	})
}

func (w *powerWorld) setRole() error {
	name := w.name()
	if exists, _ := w.has(name); !exists {
		return nil
	}
	role := []Role{Member, Operator, Admin}[w.rng.IntN(3)]
	after := w.with("account "+name, describe(role, w.store.Lookup(name).Certs, false))
	return w.try(fmt.Sprint("role ", name, " ", role), after, func() error { return w.store.SetRole(name, role) })
}

func (w *powerWorld) ban() error {
	name := w.name()
	if _, banned := w.state["ban "+name]; banned && w.rng.IntN(2) == 0 {
		return w.try("unban "+name, w.without("ban "+name), func() error { return w.store.Unban(name) })
	}
	reason := fmt.Sprint("reason ", w.step)
	return w.try("ban "+name, w.with("ban "+name, reason), func() error {
		_, err := w.store.Ban(Ban{Pattern: name, Reason: reason})
		return err
	})
}

func (w *powerWorld) invite() error {
	code, invite, err := w.store.NewInvite("ann", time.Time{})
	w.codes = append(w.codes, code)
	return w.try("invite", w.with("invite "+invite.ID, ""), func() error { return err })
}

// remove removes an account with its metadata and read markers.
func (w *powerWorld) remove() error {
	name := w.name()
	if exists, _ := w.has(name); !exists {
		return nil
	}
	metadata := w.store.path(MetadataFile(name))
	if err := (durable.Files{Disk: w.proc}).ReplaceFile(metadata, []byte("secret"), 0o600); err != nil {
		return nil
	}
	after := w.with("account "+name, describe(Member, nil, true))
	var failed error
	err := w.try("remove "+name, after, func() error {
		failed = w.store.Remove(name, false)
		if failed != nil && strings.Contains(failed.Error(), "is removed, but") {
			return nil
		}
		return failed
	})
	if exists, _ := w.has(name); !exists {
		delete(w.markers, name)
	}
	if err != nil || failed != nil || w.ended() {
		return err
	}
	for range 3 {
		after := w.disk.Survivor().Process()
		for _, path := range []string{metadata, w.store.marks.path(name)} {
			if _, err := disk.ReadFile(after, path); err == nil {
				return fmt.Errorf("after %s was removed and the power failed: %s is there, want it removed", name, path)
			}
		}
	}
	return nil
}

// mark moves a read marker that is acknowledged, or one of a device that is not.
func (w *powerWorld) mark() error {
	name := w.name()
	if exists, _ := w.has(name); !exists {
		return nil
	}
	m := w.markers[name]
	if m == nil {
		m = &marker{}
		w.markers[name] = m
	}
	if w.rng.IntN(2) == 0 {
		w.store.SetReadMarker(name, "phone", "room", w.step*10)
		w.note("flush: %v", w.store.marks.flush())
		return nil
	}
	offset := m.saved + w.rng.Int64N(3)
	m.tried = max(m.tried, offset)
	err := w.store.SaveReadMarker(name, SharedDevice, "room", offset)
	w.note("save the read marker %d of %s: %v", offset, name, err)
	if err == nil {
		m.saved = max(m.saved, offset)
	}
	return nil
}
