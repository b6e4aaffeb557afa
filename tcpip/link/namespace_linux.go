package link

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// inNamespace calls do on a thread in a named network namespace; an empty name means the caller's.
// The thread ends with the call, so that no other goroutine runs in the namespace.
func inNamespace(name string, do func() error) error {
	if name == "" {
		return do()
	}
	return onOwnThread(func() error {
		h, err := netns.GetFromName(name)
		if err != nil {
			return fmt.Errorf("link: opening the network namespace %q: %w: make it (ip netns add %s), or use Setup", name, err, name)
		}
		defer h.Close()
		if err := netns.Set(h); err != nil {
			return fmt.Errorf("link: entering the network namespace %q: %w: it needs CAP_SYS_ADMIN", name, err)
		}
		return do()
	})
}

// onOwnThread calls do in a goroutine with a thread of its own, which ends with it.
func onOwnThread(do func() error) error {
	done := make(chan error, 1) // the goroutine below -> onOwnThread: one error
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- do()
	}()
	return <-done
}
