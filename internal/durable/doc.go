// Package durable writes small files so that a crash at any moment leaves the old contents or the
// new ones, never a part of either.
//
// ReplaceFile writes a temporary file beside the file (.NAME.tmp), fsyncs it, renames it over the
// file and fsyncs the folder. When it returns nil, the new contents survive a loss of power, as far
// as the disk's own sync does. When it returns an error, the temporary file is gone, and the file
// has its old contents. That holds also if only the folder's fsync failed: the old file keeps a
// second name (.NAME.old.tmp) until then.
//
// # Limitations
//
// After the folder's fsync failed, a loss of power may still bring the new contents back, because
// the old name may not be on the disk; a crash of the process or a restart does not. On a file
// system without hard links the new contents stay after that error.
//
// ReplaceFile's temporary files have one name each, so that a crash leaves at most two beside each
// file. Goroutines and processes that replace the same file need a lock of their own. Callers of
// CreateFile need none. RemoveTemps removes the files that crashes left.
//
// MkdirAll syncs the name of a folder that existed before, unless the process may not open its
// parent, or the parent's file system has no fsync of folders.
package durable
