package account

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/durable"
)

// TestAChangeRefusedByASyncIsNotInEffectAfterARestart makes the sync fail by a limit of no open
// files: the folder cannot be opened, so it cannot be synced.
func TestAChangeRefusedByASyncIsNotInEffectAfterARestart(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	dir, refusing := t.TempDir(), false
	if err := os.WriteFile(filepath.Join(dir, "accounts"), []byte("ann -\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{step: func(at durable.Step) {
		if none := limit; refusing && at == durable.Renamed {
			none.Cur = 0
			syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveReadMarker("ann", SharedDevice, "room", 10); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, change func() error) {
		t.Helper()
		refusing = true
		err := change()
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
		if refusing = false; err == nil {
			t.Errorf("%s: got nil, want an error", what)
		}
	}
	refused("a marker", func() error { return s.SaveReadMarker("ann", SharedDevice, "room", 20) })
	refused("a certificate", func() error { return s.AddCert("ann", strings.Repeat("ab", 32)) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if offset, _ := s.ReadMarker("ann", SharedDevice, "room"); offset != 10 {
		t.Errorf("after a restart the marker is at %d, want 10, as 20 was refused", offset)
	}
	if certs := s.Lookup("ann").Certs; len(certs) != 0 {
		t.Errorf("after a restart ann has the certificates %q, want none, as it was refused", certs)
	}
}
