package core

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"weir/chat/internal/lobby"
	"weir/chat/irc"
)

// knownNetworks holds the networks from which each account has logged in, the latest last. The file
// "networks" of the data directory has a line "NAME NETWORK" for each, in this order. Without the
// file, a restart during a password-guessing attack would lock account owners out. The file is
// written within saveNetworksEvery of a change, and at Close.
type knownNetworks map[string][]netip.Prefix // by folded account

// networksPerAccount is how many networks are remembered for each account.
const networksPerAccount = 16

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

// rememberNetwork records the network of a login.
func (s *Core) rememberNetwork(account string, from netip.Addr) {
	if s.knownNetworks.add(irc.Fold(account), from) {
		s.networksDirty = true
	}
}

// AddKnownNetworks adds the networks of a file. It ignores malformed lines and unknown accounts.
func (s *Core) AddKnownNetworks(file []byte) {
	for line := range bytes.Lines(file) {
		words := bytes.Fields(line)
		if len(words) != 2 || s.env.Accounts.Lookup(string(words[0])) == nil {
			continue
		}
		if p, err := netip.ParsePrefix(string(words[1])); err == nil {
			s.knownNetworks.add(irc.Fold(string(words[0])), p.Addr())
		}
	}
}

// ChangedNetworks returns the file of known networks if they have changed since the last call, or
// since KeepNetworksChanged; nil otherwise.
func (s *Core) ChangedNetworks() (file []byte) {
	if !s.networksDirty {
		return nil
	}
	s.networksDirty = false
	return s.knownNetworks.fileText()
}

// KeepNetworksChanged says that the file was not written.
func (s *Core) KeepNetworksChanged() { s.networksDirty = true }

func (a knownNetworks) fileText() (text []byte) {
	for _, account := range slices.Sorted(maps.Keys(a)) {
		for _, network := range a[account] {
			text = fmt.Appendf(text, "%s %s\n", account, network)
		}
	}
	return text
}
