package ticket

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// Keys encrypt and decrypt the session tickets of a server. Seal and Open may be called from any
// goroutine.
type Keys struct {
	file     path     // empty: the keys end with this process
	shared   *os.File // has the keys for child processes, in memory; nil: there are none
	isChild  bool     // shared is the parent's: this process only reads it
	logf     func(format string, args ...any)
	list     keyList // owned by the maker, then by Run
	reported string  // the last problem; owned like list

	sealer atomic.Pointer[tls.Config] // has the keys of list
}

// New returns keys. They are kept in a file, which is made with its folder if it does not exist; an
// empty name means that they end with this process. If the file cannot be used, logf, which must
// not be nil, gets one line, and there are new keys.
func New(file string, logf func(format string, args ...any)) *Keys {
	k := &Keys{file: path(file), logf: logf}
	k.refresh(time.Now())
	return k
}

// Inherited returns the keys that a parent process has shared by a file. They close the file.
func Inherited(shared *os.File, logf func(format string, args ...any)) *Keys {
	k := &Keys{shared: shared, isChild: true, logf: logf}
	k.refresh(time.Now())
	return k
}

// Share makes the file by which child processes inherit the keys, before Run.
func (k *Keys) Share() (err error) {
	if k.shared, err = newMemory(); err != nil {
		return err
	}
	_, err = k.shared.WriteAt(k.list.encode(), 0)
	return err
}

// Shared returns the file that Share has made, as the only one. Keys that are not shared have none.
func (k *Keys) Shared() []*os.File {
	if k.shared == nil {
		return nil
	}
	return []*os.File{k.shared}
}

// Close releases what the keys hold, after the end of Run. It may be called more than once.
func (k *Keys) Close() {
	if k.shared != nil {
		k.shared.Close()
	}
}

// Run renews the keys, and reads those of other processes, until ctx ends.
func (k *Keys) Run(ctx context.Context) {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.refresh(time.Now())
		}
	}
}

// refresh reads the keys, and makes a new one if that is due.
func (k *Keys) refresh(now time.Time) {
	switch {
	case k.isChild:
		k.inherit(now)
	case k.file != "":
		k.update(now)
	default:
		k.list, _ = k.list.rotate(now)
	}
	if k.shared != nil && !k.isChild {
		_, _ = k.shared.WriteAt(k.list.encode(), 0) // without it children have the last keys
	}
	sealer := new(tls.Config)
	sealer.SetSessionTicketKeys(k.list.secrets(now))
	k.sealer.Store(sealer)
}

// inherit reads the parent's keys.
func (k *Keys) inherit(now time.Time) {
	l, err := readShared(k.shared)
	if err != nil {
		l, _ = k.list.rotate(now)
	}
	k.list = l
	k.report("the parent's keys of session tickets", err, "TLS sessions of other processes do not resume")
}

// update stores the keys that are due. Where the file has none, those in use are stored.
func (k *Keys) update(now time.Time) {
	if stored, err := k.file.read(); err == nil {
		if l, changed := stored.rotate(now); !changed {
			k.list, k.reported = l, ""
			return
		}
	}
	var damaged error
	due := k.list
	err := k.file.update(func(stored keyList, err error) keyList {
		if err == nil {
			due = stored
		} else if !errors.Is(err, fs.ErrNotExist) {
			damaged = err
		}
		var changed bool
		if due, changed = due.rotate(now); err == nil && !changed {
			return nil
		}
		return due
	})
	if err == nil {
		k.report(string(k.file), damaged, "its keys are replaced, and earlier TLS sessions may not resume")
	} else {
		due, _ = due.rotate(now)
		k.report(string(k.file), err, "keys cannot be stored, and TLS sessions will not resume after a restart")
	}
	k.list = due
}

// report says once why keys cannot be read or stored.
func (k *Keys) report(where string, err error, effect string) {
	text := ""
	if err != nil {
		text = fmt.Sprintf("keys of TLS session tickets: %s: %v: %s", where, err, effect)
	}
	if text != "" && text != k.reported {
		k.logf("%s", text)
	}
	k.reported = text
}

// Seal encrypts a session as a ticket, for tls.Config.WrapSession. Open accepts the ticket only
// with the same binding.
func (k *Keys) Seal(cs tls.ConnectionState, s *tls.SessionState, binding []byte) ([]byte, error) {
	s.Extra = append(s.Extra, binding)
	return k.sealer.Load().EncryptTicket(cs, s)
}

// Open decrypts a ticket, for tls.Config.UnwrapSession. For a ticket of another key or with another
// binding it returns nil without an error: a full handshake follows.
func (k *Keys) Open(ticket []byte, cs tls.ConnectionState, binding []byte) (*tls.SessionState, error) {
	s, err := k.sealer.Load().DecryptTicket(ticket, cs)
	if s == nil || err != nil || !slices.ContainsFunc(s.Extra, func(e []byte) bool { return bytes.Equal(e, binding) }) {
		return nil, err
	}
	return s, nil
}
