package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// removeTimeout limits the removal of a worktree, which goes on after an interrupt.
const removeTimeout = 30 * time.Second

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
	dir := filepath.Join(t.temp, name)
	t.made = append(t.made, dir)
	if _, err := git(ctx, t.repo, "worktree", "add", "--quiet", "--detach", dir, commit); err != nil {
		return tree{}, fmt.Errorf("gate: cannot check out %s: %w", v, err)
	}
	return tree{dir: filepath.Join(dir, filepath.FromSlash(t.prefix)), top: dir, commit: commit}, nil
}

func (t *trees) findRepository(ctx context.Context, v Version) error {
	if t.repo != "" {
		return nil
	}
	out, err := git(ctx, ".", "rev-parse", "--show-toplevel", "--show-prefix")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	top, prefix, _ := strings.Cut(out, "\n")
	if err != nil || top == "" {
		return fmt.Errorf("gate: %s is taken for a git revision, and this folder is in no git repository: go to the repository, or write ./%s for a folder", v, v)
	}
	t.repo, t.prefix = top, strings.TrimSpace(prefix)
	return nil
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	var errs []error
	for _, dir := range t.made {
		_, err := git(ctx, t.repo, "worktree", "remove", "--force", "--force", dir)
		if _, gone := os.Stat(dir); err != nil && gone == nil {
			errs = append(errs, fmt.Errorf("gate: cannot remove the worktree %s: %w", dir, err))
		}
	}
	if err := os.RemoveAll(t.temp); err != nil {
		errs = append(errs, fmt.Errorf("gate: cannot remove the temporary folder: %w", err))
	}
	return errors.Join(errs...)
}

// gitGrace is how long processes that a killed git left may keep its output open.
const gitGrace = 2 * time.Second

// git runs a git command in a folder, and returns its trimmed output. The error holds its last
// line. Hooks of the repository do not run: they may change it. The command has a process group of
// its own, so that Ctrl-C does not reach it, and the end of ctx ends its filters too.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir = dir
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = gitGrace
	err := cmd.Run()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		err = errors.New("git is not on PATH: install it")
	default:
		lines := strings.Split(strings.TrimSpace(failed.String()), "\n")
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimPrefix(lines[len(lines)-1], "fatal: "))
	}
	return strings.TrimSpace(out.String()), err
}
