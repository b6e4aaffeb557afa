package link

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// inNamespace calls do on a thread in a named network namespace; without a name, on the caller's.
// The thread ends with the call: nobody else is to find itself in the namespace.
func inNamespace(name string, do func() error) error {
	if name == "" {
		return do()
	}
	return onThread(func() error {
		h, err := netns.GetFromName(name)
		if err != nil {
			return fmt.Errorf("link: opening the network namespace %q: %w: make it (ip netns add %s), or have it made", name, err, name)
		}
		defer h.Close()
		if err := netns.Set(h); err != nil {
			return fmt.Errorf("link: entering the network namespace %q: %w: it needs CAP_SYS_ADMIN", name, err)
		}
		return do()
	})
}

// onThread calls do in a goroutine whose thread is nobody else's and ends with it.
func onThread(do func() error) error {
	done := make(chan error, 1) // the goroutine below -> here: one answer
	go func() {
		runtime.LockOSThread() // and never unlocked: so the thread ends
		done <- do()
	}()
	return <-done
}
