// Package durable puts small files on the disk so that a crash at any moment leaves the old contents or
// the new ones, never a part of either.
//
// ReplaceFile writes a temporary file beside the file (.NAME.tmp), fsyncs it, renames it over the file and
// fsyncs the folder. When it returns nil, the new contents survive a loss of power, as far as the disk's
// own sync does. When it returns an error, the temporary file is gone, and the file has its old contents,
// unless the folder's fsync was what failed: then it may have either after a crash.
//
// # Limitations
//
// The temporary file has one name, so that a crash leaves at most one beside each file: whoever replaces the
// same file from several goroutines or processes serialises them. RemoveTemps removes what crashes left.
package durable
