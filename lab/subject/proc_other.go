//go:build !linux

package subject

import (
	"net"
	"syscall"
)

// canSeeListeners says that only a connection shows whether somebody listens.
const canSeeListeners = false

func listening(int, net.IP, int) bool { return false }

func unread(int, int) int64 { return 0 }

// processGroup says whether there is anybody in a process group, by the name of its leader.
func processGroup(id int) []int {
	if syscall.Kill(-id, 0) != nil {
		return nil
	}
	return []int{id}
}
