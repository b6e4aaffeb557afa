//go:build linux

package chattest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/crashdisk"
)

// fileSystem is a file system that a server's data is on when the power goes.
type fileSystem struct {
	name    string
	mkfs    []string // the command that creates it, without the file
	options string   // of mount
	sector  int      // bytes that the disk writes entirely or not at all
}

// The file systems under test. The superblock of btrfs is 4096 bytes and must not be torn.
var fileSystems = []fileSystem{
	{"ext4", []string{"mkfs.ext4", "-q", "-F"}, "loop", 512},
	{"xfs", []string{"mkfs.xfs", "-q", "-f"}, "loop", 512},
	{"btrfs", []string{"mkfs.btrfs", "-q", "-f", "-K"}, "loop,nodiscard", 4096},
}

// powerDiskSize is the smallest multiple of 128 MiB of which mkfs.xfs makes a file system.
const powerDiskSize = 384 << 20

// mountNamespace is set in a run of a test in a mount namespace of its own, which takes its mounts
// with it whatever becomes of the test.
const mountNamespace = "WEIR_CHATTEST_MOUNT_NAMESPACE"

// runInMountNamespace runs tests of this program in a mount namespace, with further environment
// variables, and returns their output. It skips the test where that is not possible.
func runInMountNamespace(t *testing.T, pattern string, environment ...string) (string, error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("the test mounts file systems: run it as root")
	}
	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(device); err != nil {
			t.Skipf("the test mounts file systems from its own block device: %v", err)
		}
	}
	arguments := []string{"-test.run=" + pattern, "-test.v=true"}
	if end, ok := t.Deadline(); ok {
		arguments = append(arguments, "-test.timeout="+(time.Until(end)-time.Second).String())
	}
	c := exec.Command("/proc/self/exe", arguments...)
	c.Env = append(append(os.Environ(), mountNamespace+"=1"), environment...)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := c.CombinedOutput()
	return string(out), err
}

// there skips the test if the kernel or its tools lack the file system.
func (f *fileSystem) there(t *testing.T) {
	t.Helper()
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(known, []byte("\t"+f.name+"\n")) {
		t.Skipf("the kernel does not support %s", f.name)
	}
	if _, err := exec.LookPath(f.mkfs[0]); err != nil {
		t.Skipf("%s is not installed: run scripts/setup test", f.mkfs[0])
	}
}

// powerDisk is a disk with a file system. Only other processes touch the file system: this one
// serves the disk.
type powerDisk struct {
	*fileSystem
	*crashdisk.Disk
	file, folder string // the disk, and where its file system is mounted
}

// newPowerDisk returns a disk with an empty file system that is not mounted.
func newPowerDisk(t *testing.T, f *fileSystem) *powerDisk {
	t.Helper()
	dir := t.TempDir()
	d := &powerDisk{f, crashdisk.New(powerDiskSize), filepath.Join(dir, "disk"), filepath.Join(dir, "mounted")}
	if err := os.WriteFile(d.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	mount, err := d.Attach(d.file)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := mount.Detach(); err != nil {
			t.Error(err)
		}
	})
	if err := runCommand(append(f.mkfs, d.file)...); err != nil {
		t.Fatal(err)
	}
	return d
}

// mount mounts the file system: the kernel replays the journal.
func (d *powerDisk) mount() error {
	if d.name == "btrfs" { // otherwise it refuses an older state of a file system that it knows
		if err := runCommand("btrfs", "device", "scan", "--forget"); err != nil {
			return err
		}
	}
	return runCommand("mount", "-t", d.name, "-o", d.options, d.file, d.folder)
}

// unmount unmounts the file system. A process that was killed may use it a moment longer.
func (d *powerDisk) unmount() error {
	for end := time.Now().Add(waitLimit); ; time.Sleep(time.Millisecond) {
		err := runCommand("umount", d.folder)
		if err == nil || !strings.Contains(err.Error(), "busy") || time.Now().After(end) {
			return err
		}
	}
}

// runCommand runs a command, and returns an error with what it wrote if it fails.
func runCommand(words ...string) error {
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
