package chat

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weir/chat/internal/lobby"
	"weir/chat/irc"
	"weir/internal/durable"
)

// acquainted are the networks from which an account was logged in to, the latest last. Guarded by
// Service.mu. The file networks of the data directory has a line "NAME NETWORK" for each, in this
// order: without it a restart would lock owners out while strangers guess at their passwords. The
// file is written within acquaintedEvery of a new network, and at Close.
type acquainted map[string][]netip.Prefix // by folded account

const (
	acquaintedEach  = 16 // networks of an account are remembered
	acquaintedEvery = time.Minute
)

// note remembers the network of a login, and reports whether it was not known.
func (a acquainted) note(account string, from netip.Addr) (strange bool) {
	network := lobby.Network(from)
	if !network.IsValid() {
		return false
	}
	n := len(a[account])
	all := slices.DeleteFunc(a[account], func(p netip.Prefix) bool { return p == network })
	strange = len(all) == n
	if len(all) >= acquaintedEach {
		all = slices.Delete(all, 0, 1)
	}
	a[account] = append(all, network)
	return strange
}

// cameFrom remembers the address of a login. The caller holds the lock.
func (s *Service) cameFrom(account string, from netip.Addr) {
	if s.acquainted.note(irc.Fold(account), from) {
		s.strange = true
	}
}

func (s *Service) acquaintedPath() string { return filepath.Join(s.dir, "networks") }

// readAcquainted reads the file. It ignores lines that cannot be read, or name no account.
func (s *Service) readAcquainted() {
	err := durable.RemoveTempOf(s.acquaintedPath())
	data, failed := os.ReadFile(s.acquaintedPath())
	if errors.Is(failed, os.ErrNotExist) {
		failed = nil
	}
	if err := errors.Join(err, failed); err != nil {
		s.o.Log.Warn("the networks of accounts cannot be read", "error", err)
	}
	for line := range bytes.Lines(data) {
		words := bytes.Fields(line)
		if len(words) != 2 || s.accounts.Lookup(string(words[0])) == nil {
			continue
		}
		if p, err := netip.ParsePrefix(string(words[1])); err == nil {
			s.acquainted.note(irc.Fold(string(words[0])), p.Addr())
		}
	}
}

// saveAcquainted writes the file if a network is missing in it. If that fails, the next call tries
// again. The caller does not hold the lock.
func (s *Service) saveAcquainted() {
	var text []byte
	strange := false
	s.locked(func() {
		if strange = s.strange; strange {
			text, s.strange = s.acquainted.text(), false
		}
	})
	if !strange {
		return
	}
	if err := durable.ReplaceFile(s.acquaintedPath(), text, 0o600); err != nil {
		s.o.Log.Error("the networks of accounts cannot be written", "error", err)
		s.locked(func() { s.strange = true })
	}
}

func (a acquainted) text() (text []byte) {
	for _, account := range slices.Sorted(maps.Keys(a)) {
		for _, network := range a[account] {
			text = fmt.Appendf(text, "%s %s\n", account, network)
		}
	}
	return text
}
