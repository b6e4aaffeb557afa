package ticket

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// process are keys as one process has them, and the lines that it logs.
type process struct {
	*Keys
	lines []string
}

func (p *process) logf(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// run starts a process with a file of keys; stop ends it.
func run(t *testing.T, file string) (p *process, stop func()) {
	t.Helper()
	p = new(process)
	p.Keys = New(file, p.logf)
	return p, p.start(t)
}

func (p *process) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}) // closed by the goroutine at its end
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
		p.Close()
	}
}

var binding = []byte("for a.test")

func want(t *testing.T, what string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s: resumes: %v, want %v", what, got, want)
	}
}

func TestATicketResumesAfterARestartAndUntilItsLifetimeEnds(t *testing.T) {
	agreed = session(t)
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "new", "keys")
		p, stop := run(t, file)
		ticket := p.issue(t)
		want(t, "in the same process", p.resumes(t, ticket, binding), true)
		want(t, "with another binding", p.resumes(t, ticket, []byte("for b.test")), false)
		stop()
		p, stop = run(t, file)
		defer func() { stop() }()
		want(t, "after a restart", p.resumes(t, ticket, binding), true)
		time.Sleep(rotation + announcement + refresh)
		synctest.Wait()
		second := p.issue(t)
		want(t, "after a rotation", p.resumes(t, ticket, binding), true)
		stop()
		p, stop = run(t, file)
		want(t, "the ticket of the new key, after a restart", p.resumes(t, second, binding), true)
		time.Sleep(validity - rotation - time.Hour)
		synctest.Wait()
		want(t, "an hour before the end of its lifetime", p.resumes(t, ticket, binding), true)
		time.Sleep(rotation + time.Hour)
		synctest.Wait()
		want(t, "when the lifetime of all its key's tickets has ended", p.resumes(t, ticket, binding), false)
		if len(p.lines) > 0 {
			t.Errorf("logged %q, want nothing", p.lines)
		}
	})
}

func TestTwoProcessesOfOneFileResumeEachOthersSessionsAtEveryTime(t *testing.T) {
	agreed = session(t)
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "keys")
		a, stopA := run(t, file)
		defer stopA()
		time.Sleep(17 * time.Second) // so that they refresh at different times
		b, stopB := run(t, file)
		defer stopB()
		for end := time.Now().Add(3 * rotation); time.Now().Before(end); time.Sleep(20 * time.Second) {
			synctest.Wait()
			if !b.resumes(t, a.issue(t), binding) || !a.resumes(t, b.issue(t), binding) {
				t.Fatalf("%v before the end: a new ticket does not resume in the other process", time.Until(end))
			}
		}
	})
}

func TestAChildResumesTheSessionsOfItsParentsOtherChildren(t *testing.T) {
	agreed = session(t)
	synctest.Test(t, func(t *testing.T) {
		parent := new(process)
		parent.Keys = New("", parent.logf)
		if err := parent.Share(); err != nil {
			t.Fatal(err)
		}
		shared := parent.Shared()[0]
		defer parent.start(t)()
		child := func() (*process, func()) {
			own, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", shared.Fd()), os.O_RDONLY, 0)
			if err != nil {
				t.Skip("needs /proc:", err)
			}
			p := new(process)
			p.Keys = Inherited(own, p.logf)
			return p, p.start(t)
		}
		a, stopA := child()
		defer stopA()
		ticket := a.issue(t)
		time.Sleep(2 * rotation)
		synctest.Wait()
		b, stopB := child()
		defer stopB()
		want(t, "a ticket from before two rotations, in a new child", b.resumes(t, ticket, binding), true)
		want(t, "a new ticket", a.resumes(t, b.issue(t), binding), true)
		if lines := append(a.lines, b.lines...); len(lines) > 0 {
			t.Errorf("logged %q, want nothing", lines)
		}
	})
}

func TestADamagedFileIsReportedInOneLineAndReplaced(t *testing.T) {
	agreed = session(t)
	dir := t.TempDir()
	healthy := filepath.Join(dir, "healthy")
	p := New(healthy, t.Logf)
	defer p.Close()
	good, err := os.ReadFile(healthy)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(heading)+30] ^= 1
	for name, c := range map[string]struct {
		text []byte
		mode os.FileMode
		why  string
	}{
		"empty":          {nil, 0o600, "it is damaged"},
		"cut":            {good[:len(good)-5], 0o600, "it is damaged"},
		"a flipped bit":  {flipped, 0o600, "it is damaged"},
		"something else": {[]byte("hello\n"), 0o600, "it is damaged"},
		"no keys":        {keyList{}.encode(), 0o600, "it is damaged"},
		"too long":       {append(bytes.Clone(good), make([]byte, maxText)...), 0o600, "it is damaged"},
		"for others":     {good, 0o644, "others may have read it"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(file, c.text, c.mode); err != nil {
				t.Fatal(err)
			}
			p := new(process)
			p.Keys = New(file, p.logf)
			if len(p.lines) != 1 || !strings.Contains(p.lines[0], file) || !strings.Contains(p.lines[0], c.why) || strings.Contains(p.lines[0], "\n") {
				t.Errorf("logged %q, want one line with the file and %q", p.lines, c.why)
			}
			ticket := p.issue(t)
			again := new(process)
			again.Keys = New(file, again.logf)
			want(t, "after the next start", again.resumes(t, ticket, binding), true)
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || len(again.lines) > 0 {
				t.Errorf("then the file has mode %v (%v) and the log is %q, want -rw------- and nothing", info.Mode(), err, again.lines)
			}
		})
	}
}

func TestAFileThatIsDamagedWhileItIsUsedGetsTheKeysInUse(t *testing.T) {
	agreed = session(t)
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "keys")
		p, stop := run(t, file)
		ticket := p.issue(t)
		if err := os.Truncate(file, 40); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * refresh)
		synctest.Wait()
		stop()
		p, stop = run(t, file)
		defer stop()
		want(t, "after a restart", p.resumes(t, ticket, binding), true)
	})
}

func TestAFileThatCannotBeWrittenIsReportedOnceAndTicketsWork(t *testing.T) {
	agreed = session(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p, stop := run(t, filepath.Join(dir, "file", "keys"))
		defer stop()
		ticket := p.issue(t)
		time.Sleep(10 * refresh)
		synctest.Wait()
		want(t, "in the same process", p.resumes(t, ticket, binding), true)
		if len(p.lines) != 1 || !strings.Contains(p.lines[0], "keys cannot be stored") {
			t.Errorf("logged %q, want one line that keys cannot be stored", p.lines)
		}
	})
}

func TestAClockThatWasWrongLeavesNoKeyForYears(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l, _ := keyList(nil).rotate(now.AddDate(10, 0, 0))
	l, changed := l.rotate(now)
	if !changed || len(l) != 1 || !l[0].created.Equal(now) {
		t.Errorf("got keys of %v, want one of now", l)
	}
}

func FuzzDecode(f *testing.F) {
	l, _ := keyList(nil).rotate(time.Unix(1e9, 0))
	l, _ = l.rotate(time.Unix(1e9, 0).Add(rotation))
	f.Add(l.encode())
	f.Add([]byte(heading))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := decode(text)
		if err != nil {
			return
		}
		again, err := decode(l.encode())
		if err != nil || !slices.EqualFunc(again, l, func(a, b key) bool { return a.secret == b.secret && a.created.Equal(b.created) }) {
			t.Errorf("%q is %v, and that is written as %q, which is %v, %v", text, l, l.encode(), again, err)
		}
	})
}
