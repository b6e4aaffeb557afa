//go:build linux

package chattest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"weir/internal/crashdisk"
	"weir/internal/testsize"
)

const (
	powerVariable   = "WEIR_CHATTEST_POWER_LOSSES"
	plantedVariable = "WEIR_CHATTEST_PLANTED_CALL"
)

// A server whose machine loses power at any moment, on a disk that loses, reorders and tears what
// was not flushed, keeps every acknowledged message and change of its state.
func TestPowerLossLosesNothingAcknowledged(t *testing.T) {
	if os.Getenv(mountNamespace) == "" {
		out, err := runInMountNamespace(t, "^"+t.Name()+"$")
		if t.Logf("%s", out); err != nil {
			t.Errorf("in a mount namespace: got %v, want the tests to pass", err)
		}
		return
	}
	losses := testsize.Of(t, powerVariable, 6)
	seed := uint64(testsize.Of(t, "WEIR_CHATTEST_SEED", int(time.Now().UnixNano()&0xffffff)))
	for _, f := range fileSystems {
		for _, p := range powerPrograms() {
			t.Run(f.name+"/"+p.name, func(t *testing.T) {
				f.there(t)
				p.there(t)
				t.Parallel()
				r := newPowerRun(t, p, &f)
				r.record(t, losses/2)
				r.loseAgain(t, losses, rand.New(rand.NewPCG(seed, 2)))
				if t.Failed() {
					t.Logf("WEIR_CHATTEST_SEED=%d repeats the choice of moments", seed)
				}
			})
		}
		if os.Getenv(powerVariable) == "" {
			return // the long run has all file systems
		}
	}
}

// A server that does not sync its files loses acknowledged messages or changes, and the test finds
// out: strace skips one of the system calls, which succeeds.
func TestPowerLossFindsMissingSyncs(t *testing.T) {
	if os.Getenv(powerVariable) == "" {
		t.Skipf("it takes a minute: set %s to the number of power losses, such as 100", powerVariable)
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed: run scripts/setup test")
	}
	for _, f := range fileSystems {
		for _, p := range powerPrograms() {
			for _, call := range []string{"fdatasync", "fsync"} {
				t.Run(f.name+"/"+p.name+"/"+call, func(t *testing.T) {
					f.there(t)
					p.there(t)
					t.Parallel()
					out, err := runInMountNamespace(t, "^TestPowerLossLosesNothingAcknowledged$/^"+f.name+"$/^"+p.name+"$", plantedVariable+"="+call)
					if found := regexp.MustCompile(`failed after the power loss at .*`).FindString(out); err == nil || found == "" {
						t.Errorf("%s without %s: got %v, want a power loss that loses something acknowledged:\n%s", p.name, call, err, out)
					} else {
						t.Log(found)
					}
				})
			}
		}
	}
}

// powerPrograms returns the servers whose ways to the disk differ: one model of the server in Go,
// and the server in C. A planted bug skips one of their system calls.
func powerPrograms() (all []*program) {
	call := os.Getenv(plantedVariable)
	for _, p := range programs() {
		if p.name != "loop" && p.name != "chatd" {
			continue
		}
		if call != "" {
			planted := *p
			planted.runner = []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=" + call + ":retval=0"}
			p = &planted
		}
		all = append(all, p)
	}
	return all
}

// powerFlags returns the flags with which all of the state can be changed and read.
func powerFlags(t *testing.T, p *program) []string {
	t.Helper()
	if p.command[0] != "weir" && p.runner != nil {
		return []string{"--no-sandbox"} // the sandbox ends a process whose calls are changed
	}
	if p.command[0] != "weir" {
		return nil
	}
	config := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(config, []byte("[upload]\nfiles_per_day = 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", config, "--registration", "open", "--web", ""}
}

// mustRun starts the server.
func (r *powerRun) mustRun(t *testing.T) {
	t.Helper()
	if r.command[0] == "weir" {
		r.mustRestart(t)
	} else {
		r.mustStart(t)
	}
}

// powerLoss is a moment at which the power goes, and what the disk keeps then.
type powerLoss struct {
	position int
	fate     crashdisk.Fate
}

// powerLosses returns the moments: before the end of each flush, with all lost that was not
// flushed, and random ones.
func (r *powerRun) powerLosses(losses int, random *rand.Rand) (all []powerLoss) {
	for _, at := range r.written.Flushes() {
		if at >= r.start && len(all) < losses {
			all = append(all, powerLoss{at, crashdisk.Lost})
		}
	}
	for len(all) < losses {
		all = append(all, powerLoss{r.start + random.IntN(r.written.End-r.start+1), crashdisk.Random(random)})
	}
	return all
}

// loseAgain takes the power from the recorded run at many moments, and checks what each leaves.
func (r *powerRun) loseAgain(t *testing.T, losses int, random *rand.Rand) {
	t.Helper()
	began := time.Now()
	all := r.powerLosses(losses, random)
	lost, atFlushes, again := 0, 0, 0
	for _, l := range all {
		if slices.Contains(r.written.Flushes(), l.position) {
			atFlushes++
		}
		image, n := r.written.Crash(l.position, r.disk.sector, l.fate)
		lost += n
		r.disk.Show(image)
		recovery := r.checkAfterLoss(t, l.position)
		if random.IntN(4) == 0 { // the power goes again while the server recovers
			again++
			image, n := recovery.Crash(1+random.IntN(recovery.End), r.disk.sector, crashdisk.Random(random))
			lost += n
			r.disk.Show(image)
			r.checkAfterLoss(t, l.position)
		}
	}
	changes := 0
	for _, it := range r.items {
		changes += len(r.changes[it.name])
	}
	t.Logf("%d power losses (%d at flushes, %d in the recovery from another, %d that left zeros written ahead) in %v, %d writes lost or torn; %d messages and %d changes were acknowledged: 0 lost, 0 duplicated, 0 out of order",
		len(all)+again, atFlushes, again, r.padded, time.Since(began).Round(time.Millisecond), lost, len(r.messages), changes)
}

// checkAfterLoss starts the server on what the disk kept, and compares that with what was
// acknowledged at the position. It returns what the disk was given meanwhile.
func (r *powerRun) checkAfterLoss(t *testing.T, position int) *crashdisk.Recording {
	t.Helper()
	r.disk.Record()
	defer func() { // also where the test ends at once
		if t.Failed() {
			t.Logf("failed after the power loss at position %d of %d", position, r.written.End)
		}
	}()
	if err := r.disk.mount(); err != nil {
		t.Fatal(err)
	}
	if r.hasPadding(t) {
		r.padded++
	}
	r.mustRun(t)
	end := readRoom(t, r.server)
	c := r.logIn(t, "ann", "first", stateRoom, spelledRoom)
	c.conn.Close()
	r.judgeData(t, end, position)
	if err := r.kill(); err != nil {
		t.Fatal(err)
	}
	recovery := r.disk.Recorded()
	if err := r.disk.unmount(); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	return recovery
}

// hasPadding reports whether a segment of the room ends with a zero: padding, or a size without its
// data.
func (r *powerRun) hasPadding(t *testing.T) bool {
	segments, err := filepath.Glob(filepath.Join(r.data, "rooms", crashRoom, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(segments, func(name string) bool {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.HasSuffix(b, []byte{0})
	})
}

// judgeMessages checks that a history has all acknowledged messages, once and in order.
func (r *powerRun) judgeMessages(t *testing.T, history []string, position int) {
	t.Helper()
	seen := map[string]bool{}
	rest := r.order
	for _, text := range history {
		at := slices.Index(rest, text)
		switch {
		case seen[text]:
			t.Errorf("duplicated: got %.30q twice, want it once", text)
		case at < 0:
			t.Errorf("out of order: got %.30q after messages that it preceded, or that was never stored", text)
		default:
			rest = rest[at+1:]
		}
		seen[text] = true
	}
	for text, at := range r.messages {
		if at <= position && !seen[text] {
			t.Errorf("lost: %.30q was acknowledged at position %d, and is missing after a power loss at %d", text, at, position)
		}
	}
}

// judgeData checks that the data has all acknowledged messages and changes, that a joining client
// was sent the end of the history, and that no log has a fault.
func (r *powerRun) judgeData(t *testing.T, end []string, position int) {
	t.Helper()
	mounted := r.data
	r.data = r.copyData(t)
	defer func() {
		os.RemoveAll(filepath.Dir(r.data))
		r.data = mounted
	}()
	history := roomTexts(t, r.server, crashRoom)
	if n := len(history) - len(end); n < 0 || !slices.Equal(history[n:], end) || len(end) < min(crashMinReplay, len(history)) {
		t.Errorf("a joining client received %d messages, want the last %d or more of the %d in the log", len(end), crashMinReplay, len(history))
	}
	r.judgeMessages(t, history, position)
	for _, it := range r.items {
		sent := it.sent
		defer func() { it.sent = sent }()
		it.acked = r.acknowledged(it, position)
		it.sent = min(it.acked+1, sent)
	}
	r.judge(t, r.items)
	weir, err := weirBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := runCommand(weir, "chat", "log", "check", r.data); err != nil {
		t.Errorf("after a power loss at position %d: %v", position, err)
	}
}
