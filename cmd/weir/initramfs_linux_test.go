package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// initramfs returns the first file system of a Linux kernel: busybox, the modules of the kernel and
// the scripts in testdata/guest.
func initramfs(t *testing.T, kernel string) []byte {
	t.Helper()
	var b bytes.Buffer
	add := func(name, from string) {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		appendCpio(&b, name, 0o100755, content)
	}
	for _, folder := range []string{"bin", "modules"} {
		appendCpio(&b, folder, 0o040755, nil)
	}
	add("bin/busybox", staticBusybox(t))
	add("init", "testdata/guest/init")
	add("udhcpc", "testdata/guest/udhcpc")
	modules, _ := filepath.Glob(filepath.Join(kernel, "modules", "*.ko")) // the pattern is right
	for _, m := range modules {
		add("modules/"+filepath.Base(m), m)
	}
	appendCpio(&b, "TRAILER!!!", 0, nil)
	return b.Bytes()
}

// appendCpio appends a file in the format newc, which the kernel reads
// (Documentation/driver-api/early-userspace/buffer-format.rst).
func appendCpio(b *bytes.Buffer, name string, mode uint32, content []byte) {
	align := func() { b.Write(make([]byte, -b.Len()&3)) }
	// inode, mode, owner, group, links, time, size, 4 device numbers, length of the name, checksum
	fmt.Fprintf(b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", b.Len(), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	b.WriteString(name + "\x00")
	align()
	b.Write(content)
	align()
}

// staticBusybox returns a busybox that needs no library.
func staticBusybox(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("the test needs busybox: scripts/setup test")
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Skipf("%s is no program for this system: %v", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Skipf("%s needs libraries: install busybox-static", path)
		}
	}
	return path
}
