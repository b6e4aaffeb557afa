package site

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/web/components/proxy"
)

// stateStore keeps the state of components (counts, caches, connections, health of upstreams) from
// one reading of a site file to the next. A state has an identity, a text that is equal in two
// readings if the state may be kept: see [block.identity]. Methods are safe for concurrent use.
type stateStore struct {
	mu     sync.Mutex
	states map[string]*storedState // by identity
}

// storedState is the state of one identity.
type storedState struct {
	value any
	users int // sites that use it; it is closed at 0
}

func newStateStore() *stateStore { return &stateStore{states: map[string]*storedState{}} }

// acquire returns the state of an identity, and creates it if there is none. The caller must
// release each state that it acquired.
func (k *stateStore) acquire(identity string, make func() (any, error)) (any, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.states[identity]
	if v == nil {
		value, err := make()
		if err != nil {
			return nil, err
		}
		v = &storedState{value: value}
		k.states[identity] = v
	}
	v.users++
	return v.value, nil
}

// release undoes one acquire. A state without users is closed.
func (k *stateStore) release(identity string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.states[identity]
	if v.users--; v.users > 0 {
		return nil
	}
	delete(k.states, identity)
	if c, ok := v.value.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// reopen makes states reopen their files, which may have been renamed (log rotation).
func (k *stateStore) reopen() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, v := range k.states {
		if r, ok := v.value.(interface{ Reopen() error }); ok {
			errs = append(errs, r.Reopen())
		}
	}
	return errors.Join(errs...)
}

// proxyUpstreams is a proxy of the site whose upstreams are shown in the metrics.
type proxyUpstreams struct {
	name string                         // of the proxy's block
	read func() []proxy.UpstreamReading // returns the current health and counts of its upstreams
}

// closeFunc is a function as an io.Closer.
type closeFunc func() error

// Close implements [io.Closer].
func (f closeFunc) Close() error { return f() }

// ownState returns the state of the component of block b, and creates it if there is none. Several
// equal blocks have a state each: they are numbered in the order of the file.
func (b *block) ownState(identity string, make func() (any, error)) (any, error) {
	b.identityCounts[identity]++
	return b.sharedState(fmt.Sprintf("%s, number %d", identity, b.identityCounts[identity]), make)
}

// sharedState returns the state that all blocks with the same identity share, and creates it if
// there is none. The site releases the state when it is closed.
func (b *block) sharedState(identity string, make func() (any, error)) (any, error) {
	v, err := b.states.acquire(identity, make)
	if err == nil {
		b.closers = append(b.closers, closeFunc(func() error { return b.states.release(identity) }))
	}
	return v, err
}

// identity identifies a block across readings of the file. It consists of the types and labels of
// the enclosing blocks and of the block itself (scope), and of the block's content. So a block
// keeps its state when other blocks change, and loses it when it is changed or moved elsewhere.
func (b *block) identity() string { return strings.Join(b.scope, " / ") + b.contentOf(b.Block) }

// changeable are attributes that may change without a change of the identity, by the block's type.
var changeable = map[string]string{"proxy": "weights"}

// contentOf returns the content of a block in a form that does not depend on formatting.
func (l *loader) contentOf(b *hclsyntax.Block) string {
	var s strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.Body.Attributes)) {
		if changeable[b.Type] == name {
			continue
		}
		v, _ := b.Body.Attributes[name].Expr.Value(l.evaluation) // errors were reported earlier
		fmt.Fprintf(&s, " %s=%#v", name, v)
	}
	for _, inner := range b.Body.Blocks {
		fmt.Fprintf(&s, " %s%q{%s}", inner.Type, inner.Labels, l.contentOf(inner))
	}
	return s.String()
}

// folderIdentity identifies a folder by name, device and inode, so that another folder under the
// same name is different. If the folder does not exist, only the name identifies it. The result is
// empty if the name is relative and the current directory is unknown.
func folderIdentity(name string) string {
	name, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil {
		return name
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%s %d %d", name, s.Dev, s.Ino)
	}
	return name
}
