package durable

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var durableCall = regexp.MustCompile(`(fsync|renameat|linkat)\((.*)\) += 0$`)

// The order makes a replacement durable: contents, then the name, then the folder.
func TestTheFileIsSyncedBeforeItHasItsNameAndTheFolderAfterwards(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed: scripts/setup test gets it")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-y", "-qq", "-o", trace, "-e", "trace=fsync,renameat,linkat", "-e", "signal=none", os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+filepath.Join(dir, "state"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("strace: got %v, want exit status 0: %s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if m := durableCall.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			got = append(got, m[1]+" "+fileOrFolder(m[2], dir))
		}
	}
	const want = "fsync file, renameat file, fsync folder, fsync file, linkat file, fsync folder"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("the calls are %q, want %q:\n%s", got, want, text)
	}
}

// fileOrFolder returns whether a call's arguments name a file of dir or dir itself.
func fileOrFolder(arguments, dir string) string {
	if strings.Contains(arguments, dir+"/") {
		return "file"
	}
	return "folder"
}
