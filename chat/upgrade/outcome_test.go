package upgrade

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOutcomeIsStored(t *testing.T) {
	dir := t.TempDir()
	if o, err := ReadOutcome(dir); o != (Outcome{}) || err != nil {
		t.Errorf("without an outcome: got %v and error %v, want the zero value", o, err)
	}
	for _, o := range []Outcome{{At: time.Unix(5, 6).UTC(), PID: 7, Kept: 8, Closed: 9}, {Error: "why not"}} {
		if err := o.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadOutcome(dir); got != o || err != nil {
			t.Errorf("wrote %v: read %v and error %v, want the same", o, got, err)
		}
	}
	os.WriteFile(filepath.Join(dir, outcomeFile), []byte("gibberish"), 0o600)
	if _, err := ReadOutcome(dir); err == nil {
		t.Error("reading an invalid file: got no error, want one")
	}
}

func TestServerPIDReadsTheLock(t *testing.T) {
	for lock, want := range map[string]int{"123\n": 123, "": 0, "x\n": 0, "1\n": 0, "-5\n": 0} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, "lock"), []byte(lock), 0o600)
		if pid, err := ServerPID(dir); pid != want && err == nil || (err == nil) != (want > 0) {
			t.Errorf("lock %q: got PID %d and error %v, want %d", lock, pid, err, want)
		}
	}
	if _, err := ServerPID(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no lock") {
		t.Errorf("directory without a lock: got %v, want an error that says so", err)
	}
}

func TestServiceManagerIsNotified(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := NotifyServiceManager(name, "MAINPID=5"); err != nil {
		t.Fatal(err)
	}
	l.SetReadDeadline(time.Now().Add(30 * time.Second))
	got := make([]byte, 100)
	if n, err := l.Read(got); string(got[:n]) != "MAINPID=5" || err != nil {
		t.Errorf("the service manager received %q and error %v, want MAINPID=5", got[:n], err)
	}
	if err := NotifyServiceManager("", "READY=1"); err != nil {
		t.Error("without a service manager: got an error, want none:", err)
	}
	if err := NotifyServiceManager(name+"x", "READY=1"); err == nil {
		t.Error("notifying a socket that does not exist: got no error, want one")
	}
}
