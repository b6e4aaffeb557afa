package account

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// openOn opens the accounts of a simulated disk, in the folder /data.
func openOn(t *testing.T, d *simdisk.Disk, o Options) *Store {
	t.Helper()
	p := d.Process()
	if _, err := p.Stat("/data"); err != nil { // MkdirAll of an existing folder would sync names
		if err := (durable.Files{Disk: p}).MkdirAll("/data/metadata", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o.Iterations, o.MarkerInterval, o.Disk = minIterations, time.Hour, p
	return open(t, "/data", o)
}

// TestAChangeRefusedByASyncIsNotInEffectAfterARestart makes syncs of the folders fail.
func TestAChangeRefusedByASyncIsNotInEffectAfterARestart(t *testing.T) {
	d := simdisk.New(1)
	s := openOn(t, d, Options{})
	add(t, s, "ann", "correct horse")
	if err := s.SaveReadMarker("ann", SharedDevice, "room", 10); err != nil {
		t.Fatal(err)
	}
	d.SetFaults(simdisk.Faults{SyncFolder: 1})
	for what, change := range map[string]func() error{
		"a marker":      func() error { return s.SaveReadMarker("ann", SharedDevice, "room", 20) },
		"a certificate": func() error { return s.AddCert("ann", strings.Repeat("ab", 32)) },
	} {
		if err := change(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v, want EIO", what, err)
		}
	}
	d.SetFaults(simdisk.Faults{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openOn(t, d, Options{})
	if offset, _ := s.ReadMarker("ann", SharedDevice, "room"); offset != 10 {
		t.Errorf("after a restart the marker is at %d, want 10, as 20 was refused", offset)
	}
	if certs := s.Lookup("ann").Certs; len(certs) != 0 {
		t.Errorf("after a restart ann has the certificates %q, want none, as it was refused", certs)
	}
}

// TestAFailedSyncOfContentsIsNeverAcknowledged lets the first attempt fail, and cuts the power after
// the next one.
func TestAFailedSyncOfContentsIsNeverAcknowledged(t *testing.T) {
	for seed := range uint64(50) {
		d := simdisk.New(seed)
		s := openOn(t, d, Options{})
		add(t, s, "ann", "correct horse")
		d.SetFaults(simdisk.Faults{SyncFile: 1})
		for range 2 {
			err1, err2 := s.SetRole("ann", Admin), s.SaveReadMarker("ann", SharedDevice, "room", 10)
			if !errors.Is(err1, syscall.EIO) || !errors.Is(err2, syscall.EIO) {
				t.Fatalf("changes whose sync fails: got %v and %v, want EIO", err1, err2)
			}
		}
		d.SetFaults(simdisk.Faults{})
		if err := errors.Join(s.SetRole("ann", Admin), s.SaveReadMarker("ann", SharedDevice, "room", 10)); err != nil {
			t.Fatal(err)
		}
		after := openOn(t, d.Survivor(), Options{})
		if offset, _ := after.ReadMarker("ann", SharedDevice, "room"); offset != 10 || after.Lookup("ann").Role != Admin {
			t.Fatalf("seed %d: got the marker %d and the role %s, want what was acknowledged", seed, offset, after.Lookup("ann").Role)
		}
	}
}

// TestARegistrationWhoseInviteCannotBeRemovedIsAcknowledged lets the file of invites fail after the
// account was stored. The invite is used all the same.
func TestARegistrationWhoseInviteCannotBeRemovedIsAcknowledged(t *testing.T) {
	d := simdisk.New(1)
	var reports []error
	s := openOn(t, d, Options{Report: func(err error) { reports = append(reports, err) }})
	code, _, err := s.NewInvite("admin", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	d.SetFaults(simdisk.Faults{Fail: func(c simdisk.Call) (int, error) {
		if strings.Contains(c.Name, "invites") {
			return 0, syscall.EIO
		}
		return 0, nil
	}})
	if _, err := s.Register("ann", "correct horse", code); err != nil || len(reports) != 1 {
		t.Errorf("Register: got %v and the reports %v, want the account, and the failed write reported", err, reports)
	}
	d.SetFaults(simdisk.Faults{})
	if _, err := s.Register("bob", "correct horse", code); !errors.Is(err, ErrInvite) {
		t.Errorf("using the invite again: got %v, want ErrInvite", err)
	}
}
