//go:build !linux

package log

// Datasync is Sync, where x/sys has no fdatasync. On macOS, Sync also flushes the drive's cache.
func (f systemFile) Datasync() error { return f.Sync() }
