package upgrade

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAnOutcomeIsKept(t *testing.T) {
	dir := t.TempDir()
	if o, err := Last(dir); o != (Outcome{}) || err != nil {
		t.Errorf("before there was one: %v, %v", o, err)
	}
	for _, o := range []Outcome{{At: time.Unix(5, 6).UTC(), PID: 7, Kept: 8, Closed: 9}, {Error: "why not"}} {
		if err := o.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := Last(dir); got != o || err != nil {
			t.Errorf("%v was kept as %v, %v", o, got, err)
		}
	}
	os.WriteFile(filepath.Join(dir, outcomeFile), []byte("gibberish"), 0o600)
	if _, err := Last(dir); err == nil {
		t.Error("gibberish was taken for an outcome")
	}
}

func TestWhoHasADataDirectory(t *testing.T) {
	for lock, want := range map[string]int{"123\n": 123, "": 0, "x\n": 0, "1\n": 0, "-5\n": 0} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, "lock"), []byte(lock), 0o600)
		if pid, err := Server(dir); pid != want && err == nil || (err == nil) != (want > 0) {
			t.Errorf("lock %q: %d, %v; want %d", lock, pid, err, want)
		}
	}
	if _, err := Server(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no lock") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestAServiceManagerIsTold(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Notify(name, "MAINPID=5"); err != nil {
		t.Fatal(err)
	}
	l.SetReadDeadline(time.Now().Add(30 * time.Second))
	got := make([]byte, 100)
	if n, err := l.Read(got); string(got[:n]) != "MAINPID=5" || err != nil {
		t.Errorf("it was told %q, %v", got[:n], err)
	}
	if err := Notify("", "READY=1"); err != nil {
		t.Error("without one:", err)
	}
	if err := Notify(name+"x", "READY=1"); err == nil {
		t.Error("nobody was told, without an error")
	}
}
