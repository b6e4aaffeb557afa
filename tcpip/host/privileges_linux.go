package host

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/cap"
)

// DropPrivileges gives up the process's privileges, on all threads and for all programs that it
// starts. No capability is effective afterwards, the bounding and ambient sets are empty, and no
// program gains any (no_new_privs).
//
// With Config.Setup, capabilities that Close needs for the undo stay permitted, but not effective
// until Close: CAP_NET_ADMIN, and CAP_SYS_ADMIN with a namespace. They are needed if there is a
// bridge or a namespace, or if the device existed before. Root without capabilities can read only
// files that belong to root or are readable for all users.
func (h *Host) DropPrivileges() error {
	held := cap.GetProc()
	if may, err := held.GetFlag(cap.Effective, cap.SETPCAP); err == nil && may {
		var all []cap.Value
		for v := range cap.MaxBits() {
			all = append(all, v)
		}
		if err := cap.DropBound(all...); err != nil {
			return fmt.Errorf("host: emptying the bounding set: %w", err)
		}
	}
	if err := cap.ResetAmbient(); err != nil {
		return fmt.Errorf("host: emptying the ambient set: %w", err)
	}
	if _, err := cap.Prctlw(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("host: setting no_new_privs: %w", err)
	}
	kept := cap.NewSet()
	if err := copyPermitted(kept, held, h.undoCapabilities()); err != nil {
		return err
	}
	if err := kept.SetProc(); err != nil {
		return fmt.Errorf("host: dropping capabilities: %w", err)
	}
	h.privilegesDropped = true
	return nil
}

// undoCapabilities returns the capabilities that the undo of Setup needs.
func (h *Host) undoCapabilities() []cap.Value {
	switch {
	case !h.config.Setup || !slices.ContainsFunc(h.devices, func(d *device) bool { return !d.transient }):
		return nil
	case h.config.Namespace != "":
		return []cap.Value{cap.NET_ADMIN, cap.SYS_ADMIN}
	}
	return []cap.Value{cap.NET_ADMIN}
}

// copyPermitted adds those of values to set that are permitted in held.
func copyPermitted(set, held *cap.Set, values []cap.Value) error {
	for _, v := range values {
		may, err := held.GetFlag(cap.Permitted, v)
		if err == nil && may {
			err = set.SetFlag(cap.Permitted, true, v)
		}
		if err != nil {
			return fmt.Errorf("host: keeping %v: %w", v, err)
		}
	}
	return nil
}

// regainCapabilities makes the capabilities effective that DropPrivileges has kept.
func (h *Host) regainCapabilities() error {
	if !h.privilegesDropped || len(h.undoCapabilities()) == 0 {
		return nil
	}
	held, set := cap.GetProc(), cap.NewSet()
	err := copyPermitted(set, held, h.undoCapabilities())
	if err == nil {
		err = set.FillFlag(cap.Effective, set, cap.Permitted)
	}
	if err == nil {
		err = set.SetProc()
	}
	if err != nil {
		return errors.Join(errors.New("host: regaining the capabilities for the undo of Setup"), err)
	}
	return nil
}
