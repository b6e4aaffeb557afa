package account

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/disk"
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

// TestAFailedSyncOfContentsIsNeverAcknowledged lets the first attempt fail, and cuts the power
// after the next one.
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

// TestRemovedFilesOfAnAccountDoNotComeBack cuts the power after an account was removed.
func TestRemovedFilesOfAnAccountDoNotComeBack(t *testing.T) {
	for seed := range uint64(20) {
		d := simdisk.New(seed)
		s := openOn(t, d, Options{})
		add(t, s, "ann", "correct horse")
		err := errors.Join(
			s.SaveReadMarker("ann", SharedDevice, "room", 10),
			durable.Files{Disk: s.opts.Disk}.ReplaceFile(s.path(MetadataFile("ann")), []byte("avatar"), 0o600),
			s.Remove("ann", false))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{s.path(MetadataFile("ann")), s.marks.path("ann")} {
			if text, err := disk.ReadFile(d.Survivor().Process(), path); err == nil {
				t.Fatalf("seed %d: after a loss of power %s has %q, want no file", seed, path, text)
			}
		}
	}
}

// TestMarkersOfDevicesDoNotEndangerSavedOnes writes a marker that a loss of power may lose, into a
// file with one that was acknowledged.
func TestMarkersOfDevicesDoNotEndangerSavedOnes(t *testing.T) {
	for seed := range uint64(20) {
		d := simdisk.New(seed)
		s := openOn(t, d, Options{})
		add(t, s, "ann", "correct horse")
		if err := s.SaveReadMarker("ann", SharedDevice, "room", 10); err != nil {
			t.Fatal(err)
		}
		s.SetReadMarker("ann", "phone", "room", 20)
		if err := s.marks.flush(); err != nil {
			t.Fatal(err)
		}
		after := openOn(t, d.Survivor(), Options{})
		if offset, _ := after.ReadMarker("ann", SharedDevice, "room"); offset != 10 {
			t.Fatalf("seed %d: after a loss of power the saved marker is at %d, want 10", seed, offset)
		}
	}
}

// TestSavingAMarkerThatIsWrittenAlreadyMakesItDurable saves a marker that was written without a
// sync, by this process and by one before.
func TestSavingAMarkerThatIsWrittenAlreadyMakesItDurable(t *testing.T) {
	for seed := range uint64(20) {
		for _, restart := range []bool{false, true} {
			d := simdisk.New(seed)
			s := openOn(t, d, Options{})
			add(t, s, "ann", "correct horse")
			s.SetReadMarker("ann", "phone", "room", 20)
			if err := s.marks.flush(); err != nil {
				t.Fatal(err)
			}
			if restart {
				s = openOn(t, d, Options{})
			}
			if err := s.SaveReadMarker("ann", "phone", "room", 20); err != nil {
				t.Fatal(err)
			}
			after := openOn(t, d.Survivor(), Options{})
			if offset, _ := after.ReadMarker("ann", "phone", "room"); offset != 20 {
				t.Fatalf("seed %d, restart %v: after a loss of power the saved marker is at %d, want 20", seed, restart, offset)
			}
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

// TestAChangeThatAKilledProcessLeftIsDurableAfterOpen kills a process at each call of a change. The
// state that the next process shows survives a loss of power.
func TestAChangeThatAKilledProcessLeftIsDurableAfterOpen(t *testing.T) {
	for seed := range uint64(20) {
		for call, done := 1, false; !done; call++ {
			d := simdisk.New(seed)
			s := openOn(t, d, Options{})
			add(t, s, "ann", "correct horse")
			s.opts.Disk.(*simdisk.Process).KillAt(call, simdisk.After)
			done = s.SetRole("ann", Admin) == nil
			shown := openOn(t, d, Options{}).Lookup("ann").Role
			if after := openOn(t, d.Survivor(), Options{}).Lookup("ann").Role; after != shown {
				t.Fatalf("seed %d, killed in call %d: got the role %s, and %s after a loss of power", seed, call, shown, after)
			}
		}
	}
}
