// Package simdisk is a disk in memory that loses power. A seed chooses at random what survives, as
// hostile as POSIX and the file systems in use permit. One goroutine that makes the same calls with
// the same seed gets the same results. There is no clock and no goroutine.
//
// A Disk has any number of Processes, each of which is a disk.FS. Processes share the page cache.
// Kill ends one process, and the page cache stays. Crash ends all of them, and the page cache is
// lost: it returns a Disk with what was on the medium. CrashAt and KillAt choose the call at which
// that happens. The interrupted call has no effect, a part of it (a write), or all of it.
//
// # What survives a crash
//
// Contents. A file is an array of sectors of 512 bytes, and a sector is written as a whole. Of each
// sector that was changed since the last successful sync of its file, the medium has any version
// since then: the synced one, the newest, or one between. Sectors are chosen independently, so
// writes are dropped, reordered and torn. The size is any size since the last sync, whatever the
// sectors are. A sector within the size that was never written reads as zeros, or, after ShowStale,
// as data of removed files (ext4 with data=writeback). Memory that is mapped is changed at any time
// between two calls. Sync and Datasync return when the sectors and the size are on the medium;
// permissions are there after Sync only.
//
// Names. Making a file, folder or link, renaming and removing change folders. A sync of a folder
// makes all earlier changes of its names durable. Sync of a file does not do so for its name, as
// POSIX has it. Of the other changes, a crash keeps none, all, the first ones in their order (ext4
// and XFS have one journal), or any of them (POSIX, and btrfs for folders). Each is atomic, a
// rename too. A change in a folder that is itself lost is lost. A crash never loses a durable name,
// except by a later change of that name.
//
// Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of Crafting
// Crash-Consistent Applications" (OSDI 2014), measured which of these orders six file systems keep.
// The model keeps those that all of them keep: atomic renames and atomic sector writes. That an
// append changes size and contents together, that a rename waits for the contents, and that folder
// operations keep their order holds in some only.
//
// # A sync that fails
//
// Linux marks the pages of a failed write as clean, reports the error once, and keeps the data in
// the page cache: Rebello et al., "Can Applications Recover from fsync Failures?" (USENIX ATC
// 2020), for ext4, XFS and btrfs. So, after EIO, some of the sectors are on the medium, reads
// return the new data, and the next sync succeeds without writing the others. They are lost at the
// next crash, unless they are written again. The size stays to be written. The names of a folder
// whose sync fails stay undecided until a later sync succeeds: ext4, XFS and btrfs abort their
// journal instead, and nothing can be written then.
//
// # A full disk
//
// SetSpace limits the sectors of files. A write that needs more stores what fits and returns
// ENOSPC, and no name can be made.
//
// # Limitations
//
// Permissions are stored and not enforced: every process is root. Errors of asynchronous writeback
// appear at the file's next sync only. A sector that is torn within its 512 bytes, a medium that
// lies about a flush and a sector that moves are missing. All relative paths start at the root.
package simdisk
