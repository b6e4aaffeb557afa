package gate

import (
	"context"
	"errors"
	"fmt"
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

// TestAKilledCheckoutLeavesNothing interrupts checkouts after different times, so that git is in
// different steps.
func TestAKilledCheckoutLeavesNothing(t *testing.T) {
	r := newRepository(t)
	for i := range 200 {
		r.write(fmt.Sprintf("file%d", i), strings.Repeat("text\n", 1000))
	}
	r.commit("large", fmt.Sprintf(server, 0, 0))
	for i := range 20 {
		trees, err := newTrees()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		_, _ = trees.get(ctx, "large", baseName) // it fails, or is as fast
		cancel()
		if err := trees.close(ctx); err != nil {
			t.Errorf("an interrupt after %d ms: got %v, want the worktree removed", i, err)
		}
		if left, _ := filepath.Glob(filepath.Join(r.dir, ".git/worktrees/*")); len(left) > 0 {
			t.Fatalf("an interrupt after %d ms: got %q, want nothing", i, left)
		}
	}
	r.wantClean()
}

func TestARevisionMayBeOfABareRepository(t *testing.T) {
	r := newRepository(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.git("clone", "--quiet", "--bare", ".", bare)
	t.Chdir(bare)
	if _, err := checkOut(t.Context(), t, "fast"); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if left, _ := filepath.Glob(filepath.Join(bare, "worktrees/*")); len(left) > 0 {
		t.Errorf("got %q, want nothing", left)
	}
}

// TestARepositoryThatGitRefusesIsNamed: in a container the owner of the repository is often another
// user, and git says what to do.
func TestARepositoryThatGitRefusesIsNamed(t *testing.T) {
	newRepository(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	_, err := checkOut(t.Context(), t, "fast")
	for _, want := range []string{"dubious ownership", "git config --global --add safe.directory"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// TestFoldersThatMayNotBeWrittenToAreRemoved needs another user than root, who may write to all.
func TestFoldersThatMayNotBeWrittenToAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "temp")
	module := filepath.Join(dir, "base-out", "mod", "a@v1")
	if err := errors.Join(os.MkdirAll(module, 0o755), os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o444), os.Chmod(module, 0o555), os.Chmod(filepath.Dir(module), 0o555)); err != nil {
		t.Fatal(err)
	}
	if err := removeAll(dir); err != nil {
		t.Errorf("got %v, want it removed", err)
	}
}

// TestAFilterThatPrintsWithoutEndIsNoProblem: its output is among git's messages.
func TestWhatAFilterPrintsIsBounded(t *testing.T) {
	r := newRepository(t)
	r.write(".gitattributes", "main.go filter=loud\n")
	r.git("add", ".")
	r.git("commit", "--quiet", "-m", "filter")
	r.git("config", "filter.loud.required", "true")
	r.git("config", "filter.loud.smudge", "head -c 20000000 /dev/zero | tr '\\0' x >&2; false")
	_, err := checkOut(t.Context(), t, "HEAD")
	if err == nil || len(err.Error()) > maxGitOutput+1000 {
		t.Errorf("got an error of %d bytes, want one of %d at most", len(fmt.Sprint(err)), maxGitOutput)
	}
}
