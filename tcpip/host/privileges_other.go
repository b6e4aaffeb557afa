//go:build !linux

package host

// DropPrivileges gives up the process's privileges. On this system it does nothing.
func (h *Host) DropPrivileges() error { return nil }

func (h *Host) regainCapabilities() error { return nil }
