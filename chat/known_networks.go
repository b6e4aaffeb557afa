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
	"weir/internal/disk"
	"weir/internal/durable"
)

// knownNetworks holds the networks from which each account has logged in, the latest last. Guarded
// by Service.mu. The file "networks" of the data directory has a line "NAME NETWORK" for each, in
// this order. Without the file, a restart during a password-guessing attack would lock account
// owners out. The file is written within saveNetworksEvery of a change, and at Close.
type knownNetworks map[string][]netip.Prefix // by folded account

const (
	networksPerAccount = 16 // networks remembered for each account
	saveNetworksEvery  = time.Minute
)

// add records the network of a login and reports whether it is new for the account.
func (a knownNetworks) add(account string, from netip.Addr) (isNew bool) {
	network := lobby.Network(from)
	if !network.IsValid() {
		return false
	}
	n := len(a[account])
	all := slices.DeleteFunc(a[account], func(p netip.Prefix) bool { return p == network })
	isNew = len(all) == n
	if len(all) >= networksPerAccount {
		all = slices.Delete(all, 0, 1)
	}
	a[account] = append(all, network)
	return isNew
}

// rememberNetworkLocked records the network of a login. The caller holds mu.
func (s *core) rememberNetworkLocked(account string, from netip.Addr) {
	if s.knownNetworks.add(irc.Fold(account), from) {
		s.networksDirty = true
	}
}

func (s *Service) networksPath() string { return filepath.Join(s.dataDir, "networks") }

// readNetworks reads the file of known networks. It ignores malformed lines and unknown accounts.
func (s *Service) readNetworks() {
	files := durable.Files{Disk: s.fixed.Disk}
	err := files.RemoveTempOf(s.networksPath())
	data, failed := disk.ReadFile(disk.Or(s.fixed.Disk), s.networksPath())
	if errors.Is(failed, os.ErrNotExist) {
		failed = nil
	}
	if err := errors.Join(err, failed); err != nil {
		s.fixed.Log.Warn("the networks of accounts cannot be read", "error", err)
	}
	for line := range bytes.Lines(data) {
		words := bytes.Fields(line)
		if len(words) != 2 || s.accounts.Lookup(string(words[0])) == nil {
			continue
		}
		if p, err := netip.ParsePrefix(string(words[1])); err == nil {
			s.knownNetworks.add(irc.Fold(string(words[0])), p.Addr())
		}
	}
}

// saveNetworks writes the file of known networks if there is a new one. After a failure the next
// call tries again. It takes mu.
func (s *Service) saveNetworks() {
	var text []byte
	isNew := false
	s.withLock(func() {
		if isNew = s.networksDirty; isNew {
			text, s.networksDirty = s.knownNetworks.fileText(), false
		}
	})
	if !isNew {
		return
	}
	if err := (durable.Files{Disk: s.fixed.Disk}).ReplaceFile(s.networksPath(), text, 0o600); err != nil {
		s.fixed.Log.Error("the networks of accounts cannot be written", "error", err)
		s.withLock(func() { s.networksDirty = true })
	}
}

func (a knownNetworks) fileText() (text []byte) {
	for _, account := range slices.Sorted(maps.Keys(a)) {
		for _, network := range a[account] {
			text = fmt.Appendf(text, "%s %s\n", account, network)
		}
	}
	return text
}
