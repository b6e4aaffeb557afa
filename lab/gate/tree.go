package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"weir/internal/tail"
)

// forgetTimeout limits what git does at the end of a gate, also after an interrupt.
const forgetTimeout = 30 * time.Second

// A tree is the folder of a version's sources.
type tree struct {
	dir    string // absolute path of the folder that corresponds to the current one
	top    string // of its worktree; empty for a folder
	commit string // full hash; empty for a folder
}

// submodules returns what an error of a version with submodules adds; empty without them.
func (t tree) submodules() string {
	if _, err := os.Stat(filepath.Join(t.top, ".gitmodules")); t.top == "" || err != nil {
		return ""
	}
	return "\nsubmodules are not checked out: if it needs them, start --build with git submodule update --init"
}

// trees holds the git worktrees of a gate in one temporary folder. It belongs to one goroutine.
type trees struct {
	temp string   // absolute path
	made []string // worktrees, absolute paths
	repo string   // top level of the repository; empty: not yet known
	// the current folder below the top level, "" or with a slash at its end
	prefix string
}

// newTrees creates the temporary folder. Close must be called.
func newTrees() (*trees, error) {
	temp, err := os.MkdirTemp("", "weir-gate-")
	if err != nil {
		return nil, fmt.Errorf("gate: cannot make a temporary folder: %w", err)
	}
	return &trees{temp: temp}, nil
}

// isPath reports whether v is the path of a folder or of a subject.toml, and not a revision.
func (v Version) isPath() bool {
	return strings.HasPrefix(string(v), "/") || strings.HasPrefix(string(v), ".") || v.isSubject()
}

// isSubject reports whether v is the path of a subject.toml.
func (v Version) isSubject() bool { return strings.HasSuffix(string(v), ".toml") }

// get returns the tree of a version. name is that of its folder in the temporary one.
func (t *trees) get(ctx context.Context, v Version, name string) (tree, error) {
	if v.isPath() {
		dir, err := filepath.Abs(string(v))
		if err == nil && v.isSubject() {
			dir = filepath.Dir(dir)
		}
		if err == nil {
			_, err = os.Stat(dir)
		}
		if err != nil {
			return tree{}, fmt.Errorf("gate: there is no folder %s: name a folder, a subject.toml or a revision", dir)
		}
		return tree{dir: dir}, nil
	}
	if err := t.findRepository(ctx, v); err != nil {
		return tree{}, err
	}
	commit, err := t.resolve(ctx, v)
	if err != nil {
		return tree{}, err
	}
	// git names its own folder for the worktree by the last element, which no other gate has
	dir := filepath.Join(t.temp, filepath.Base(t.temp)+"-"+name)
	t.made = append(t.made, dir)
	if _, err := git(ctx, t.repo, "worktree", "add", "--quiet", "--detach", dir, commit); err != nil {
		return tree{}, fmt.Errorf("gate: cannot check out %s: %w", v, err)
	}
	return tree{dir: filepath.Join(dir, filepath.FromSlash(t.prefix)), top: dir, commit: commit}, nil
}

// findRepository finds the repository of the current folder, which may be a bare one.
func (t *trees) findRepository(ctx context.Context, v Version) error {
	if t.repo != "" {
		return nil
	}
	out, err := git(ctx, ".", "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil && ctx.Err() == nil {
		if bare, _ := git(ctx, ".", "rev-parse", "--is-bare-repository"); bare == "true" {
			out, err = git(ctx, ".", "rev-parse", "--absolute-git-dir")
		}
	}
	switch top, prefix, _ := strings.Cut(out, "\n"); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && top != "":
		t.repo, t.prefix = top, strings.TrimSpace(prefix)
		return nil
	case err != nil && !strings.Contains(err.Error(), "not a git repository"):
		return fmt.Errorf("gate: %s is taken for a git revision, and the repository of this folder cannot be used: %w", v, err)
	}
	return fmt.Errorf("gate: %s is taken for a git revision, and this folder is in no git repository: go to the repository, or write ./%s for a folder", v, v)
}

// resolve returns the commit of a revision.
func (t *trees) resolve(ctx context.Context, v Version) (string, error) {
	commit, err := git(ctx, t.repo, "rev-parse", "--verify", "--quiet", "--end-of-options", string(v)+"^{commit}")
	if err == nil || ctx.Err() != nil {
		return commit, ctx.Err()
	}
	text := fmt.Sprintf("gate: there is no revision %q in %s: name a commit, a branch or a tag, or write ./%s for a folder", string(v), t.repo, v)
	if shallow, _ := git(ctx, t.repo, "rev-parse", "--is-shallow-repository"); shallow == "true" {
		text += "; the repository is shallow: fetch the revision first (git fetch --depth=1 origin REVISION)"
	}
	return "", errors.New(text)
}

// close removes the worktrees and the temporary folder, even after ctx has ended.
func (t *trees) close(ctx context.Context) error {
	var errs []error
	if err := removeAll(t.temp); err != nil {
		errs = append(errs, fmt.Errorf("gate: cannot remove the temporary folder: %w", err))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	for _, dir := range t.made {
		if err := t.forget(ctx, dir); err != nil {
			errs = append(errs, fmt.Errorf("gate: git still lists the worktree %s, which is gone (git worktree prune removes it): %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// forget removes what git keeps of a worktree whose folder is gone. A checkout that was killed may
// have left a part of it, which git does not list.
func (t *trees) forget(ctx context.Context, dir string) error {
	if _, err := git(ctx, t.repo, "worktree", "remove", "--force", "--force", dir); err == nil {
		return nil
	}
	common, err := git(ctx, t.repo, "rev-parse", "--git-common-dir")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(t.repo, common)
	}
	return os.RemoveAll(filepath.Join(common, "worktrees", filepath.Base(dir)))
}

// removeAll removes a folder, also with folders in it that may not be written to, such as those of
// Go's module cache.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) // removing it says what is wrong
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// gitGrace is how long git may take to clean up when it is interrupted.
const gitGrace = 2 * time.Second

// maxGitOutput limits the messages of git that a checkout keeps, in bytes. Filters print among
// them.
const maxGitOutput = 16 << 10

// git runs a git command in a folder, and returns its trimmed output. The error holds its reason.
// Hooks of the repository do not run: they may change it. Git does not ask for a password. The
// command has a process group of its own, so that Ctrl-C does not reach it, and the end of ctx ends
// its filters too.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, failed := tail.New(maxGitOutput), tail.New(maxGitOutput)
	cmd.Stdout, cmd.Stderr = out, failed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = gitGrace
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // filters that are left
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		err = errors.New("git is not on PATH: install it")
	default:
		err = fmt.Errorf("git %s: %s", args[0], gitReason(failed.String()))
	}
	return strings.TrimSpace(out.String()), err
}

// gitReason returns the reason of a failure from git's messages: its last error, the cause that
// they name, and the last line, which may have a remedy.
func gitReason(messages string) string {
	lines := strings.Split(strings.TrimSpace(messages), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	reason, cause := "", ""
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "fatal: "); ok {
			reason, last = text, strings.ReplaceAll(last, line, "")
		} else if text, ok := strings.CutPrefix(line, "error: "); ok && cause == "" {
			cause, last = text, strings.ReplaceAll(last, line, "")
		}
	}
	parts := []string{reason, cause, last}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}
