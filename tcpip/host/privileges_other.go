//go:build !linux

package host

// DropPrivileges gives up what the process may beyond its user's rights. Here it does nothing.
func (h *Host) DropPrivileges() error { return nil }

func (h *Host) regain() error { return nil }
