// Package durable puts small files on the disk so that a crash at any moment leaves the old contents or
// the new ones, never a part of either.
//
// ReplaceFile writes a temporary file beside the file (.NAME.tmp), fsyncs it, renames it over the file and
// fsyncs the folder. When it returns nil, the new contents survive a loss of power, as far as the disk's
// own sync does. When it returns an error, the temporary file is gone, and the file has its old contents,
// also where only the folder's fsync failed: the old file keeps a second name (.NAME.old.tmp) until then.
//
// # Limitations
//
// After the folder's fsync failed, a loss of power may still bring the new contents back, as the old name is
// not known to be on the disk; a crash of the process or a restart does not. On a file system without hard
// links the new contents stay after that error.
//
// The temporary files have one name each, so that a crash leaves at most two beside each file: the callers that
// replace the same file from several goroutines or processes serialise them. RemoveTemps removes what crashes
// left.
package durable
