// Package crashdisk is a disk in memory that loses what was not flushed. Tests use it to find out
// what a program keeps when the power goes.
//
// A Disk records each write and each flush. A position in its recording is a moment at which the
// power may go. Recording.Crash returns what a real disk may hold after that: each write that a
// later flush covers, and of the others any selection, with sectors missing if the test wants so.
// Disk.Show presents that content to the kernel.
//
// Attach makes the disk a regular file by FUSE, which mount -o loop turns into a block device. The
// process that serves the file must not touch the file systems on it: it would wait for itself if
// it is killed meanwhile. Other processes do that.
//
// Limitations: Linux, as root. The loop driver carries out requests one after the other, so a write
// that was in flight when a flush was sent counts as covered. A file system that relies on that is
// not found out. The driver offers no FUA: the kernel replaces it by a flush.
package crashdisk
