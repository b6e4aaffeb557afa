//go:build !linux

package log

// Datasync is Sync where x/sys has no fdatasync; on macOS that empties the drive's own cache too.
func (f systemFile) Datasync() error { return f.Sync() }
