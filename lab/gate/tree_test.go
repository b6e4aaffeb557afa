package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checkOut checks a revision out and removes it again.
func checkOut(ctx context.Context, t *testing.T, v Version) (tree, error) {
	t.Helper()
	trees, err := newTrees()
	if err != nil {
		t.Fatal(err)
	}
	source, err := trees.get(ctx, v, baseName)
	if source.dir != "" {
		if _, bad := os.Stat(filepath.Join(source.dir, "main.go")); bad != nil {
			t.Errorf("%s: got %v, want its main.go", v, bad)
		}
	}
	if bad := trees.close(ctx); bad != nil {
		t.Errorf("%s: got %v, want the worktree removed", v, bad)
	}
	return source, err
}

func TestACheckoutRunsNoHook(t *testing.T) {
	r := newRepository(t)
	for _, name := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		hook := filepath.Join(r.dir, ".git/hooks", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(hook), 0o755), os.WriteFile(hook, []byte("#!/bin/sh\necho hook >> '"+r.dir+"/ran'\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := checkOut(t.Context(), t, "fast"); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "ran")); err == nil {
		t.Errorf("got %d hooks run, want none: a gate changes nothing", strings.Count(string(text), "hook"))
	}
}

// TestAnInterruptEndsAHangingCheckout has a filter that hangs, as one that asks a server may.
func TestAnInterruptEndsAHangingCheckout(t *testing.T) {
	r := newRepository(t)
	r.write(".gitattributes", "main.go filter=hang\n")
	r.git("add", ".")
	r.git("commit", "--quiet", "-m", "filter")
	r.git("config", "filter.hang.smudge", "touch '"+r.dir+"/begun'; sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // until the filter runs
		for {
			if _, err := os.Stat(filepath.Join(r.dir, "begun")); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	trees, err := newTrees()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := trees.get(ctx, "HEAD", baseName); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := trees.close(ctx); err != nil {
		t.Errorf("got %v, want the worktree removed", err)
	}
	if took := time.Since(began); took > 500*time.Second {
		t.Errorf("got an end after %v, want it at the interrupt", took)
	}
	r.wantClean()
}

func TestABuildThatLacksSubmodulesSaysSo(t *testing.T) {
	r := newRepository(t)
	r.write(".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib\n")
	r.git("add", ".")
	r.git("commit", "--quiet", "-m", "submodule")
	c := r.gate("fast", "HEAD")
	c.Program.Build = "test ! -e .gitmodules"
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "git submodule update --init") {
		t.Errorf("got %v, want an error that names the submodules", err)
	}
	r.wantClean()
}
