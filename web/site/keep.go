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

// keeper keeps what components hold (counts, caches, connections, what is known of upstreams) from
// one reading of a site file to the next. It belongs to the component's identity: where its block
// stands, and what it says. Methods may be called from any goroutine.
type keeper struct {
	mu sync.Mutex
	of map[string]*kept
}

// kept is something that is kept.
type kept struct {
	value any
	users int // sites that run with it
}

func newKeeper() *keeper { return &keeper{of: map[string]*kept{}} }

// take gives what is kept under an identity, and makes it if nothing is. Each take that succeeds is
// followed by a release.
func (k *keeper) take(identity string, make func() (any, error)) (any, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.of[identity]
	if v == nil {
		value, err := make()
		if err != nil {
			return nil, err
		}
		v = &kept{value: value}
		k.of[identity] = v
	}
	v.users++
	return v.value, nil
}

// release gives up what take gave. Without users it is closed.
func (k *keeper) release(identity string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.of[identity]
	if v.users--; v.users > 0 {
		return nil
	}
	delete(k.of, identity)
	if c, ok := v.value.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// reopen has what is kept open its files again, which may have been renamed.
func (k *keeper) reopen() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, v := range k.of {
		if r, ok := v.value.(interface{ Reopen() error }); ok {
			errs = append(errs, r.Reopen())
		}
	}
	return errors.Join(errs...)
}

// upstreams are those of a proxy, under its name.
type upstreams struct {
	name string
	read func() []proxy.UpstreamReading
}

// closeFunc is what is called when a site is closed.
type closeFunc func() error

// Close implements [io.Closer].
func (f closeFunc) Close() error { return f() }

// keep gives what a component of this identity holds, made when there is nothing yet. Of several
// blocks with the same identity each has its own.
func (b *block) keep(identity string, make func() (any, error)) (any, error) {
	b.alike[identity]++
	return b.share(fmt.Sprintf("%s, number %d", identity, b.alike[identity]), make)
}

// share is keep where all blocks with the same identity have one in common.
func (b *block) share(identity string, make func() (any, error)) (any, error) {
	v, err := b.keeper.take(identity, make)
	if err == nil {
		b.closers = append(b.closers, closeFunc(func() error { return b.keeper.release(identity) }))
	}
	return v, err
}

// identity is where a block stands, and what it says.
func (b *block) identity() string {
	return strings.Join(b.scope, " / ") + saidBy(b.Body)
}

// saidBy is what a body says, however it is written.
func saidBy(body *hclsyntax.Body) string {
	var s strings.Builder
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		v, _ := body.Attributes[name].Expr.Value(nil) // what can't be evaluated was refused
		fmt.Fprintf(&s, " %s=%#v", name, v)
	}
	for _, inner := range body.Blocks {
		fmt.Fprintf(&s, " %s%q{%s}", inner.Type, inner.Labels, saidBy(inner.Body))
	}
	return s.String()
}

// folder tells a folder from another one under the same name.
func folder(name string) string {
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
