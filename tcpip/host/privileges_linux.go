package host

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/cap"
)

// DropPrivileges gives up what the process may beyond its user's rights, on all threads and for all
// programs that it starts: no capability is in effect from then on, the bounding and the ambient
// set are empty, and no program gains any (no_new_privs). With Config.Setup, what Close needs to
// undo it stays permitted, out of effect until Close, where more than the device was made (a
// bridge, a namespace) or the device was there before: CAP_NET_ADMIN, and CAP_SYS_ADMIN with a
// namespace. Root without capabilities reads the files that are root's, or that everybody may read,
// and no others.
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
	if err := permit(kept, held, h.needed()); err != nil {
		return err
	}
	if err := kept.SetProc(); err != nil {
		return fmt.Errorf("host: dropping capabilities: %w", err)
	}
	h.dropped = true
	return nil
}

// needed are the capabilities that undo needs.
func (h *Host) needed() []cap.Value {
	switch {
	case !h.config.Setup || h.transient:
		return nil
	case h.config.Namespace != "":
		return []cap.Value{cap.NET_ADMIN, cap.SYS_ADMIN}
	}
	return []cap.Value{cap.NET_ADMIN}
}

// permit puts those of some capabilities into a set that are permitted in another.
func permit(set, held *cap.Set, values []cap.Value) error {
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

// regain has what DropPrivileges has kept take effect.
func (h *Host) regain() error {
	if !h.dropped || len(h.needed()) == 0 {
		return nil
	}
	held, set := cap.GetProc(), cap.NewSet()
	err := permit(set, held, h.needed())
	if err == nil {
		err = set.FillFlag(cap.Effective, set, cap.Permitted)
	}
	if err == nil {
		err = set.SetProc()
	}
	if err != nil {
		return errors.Join(errors.New("host: taking back the rights that undo needs"), err)
	}
	return nil
}
