package tcpip

import "weir/tcpip/link"

// WatchDescriptor has the goroutine that reads the stack's first link wait for a descriptor too. So
// no other goroutine is needed between an event there and the sessions of that goroutine. It calls
// ready whenever the descriptor can be read, and at other times. ready must not block; it has a
// session go on by Post of its serve.Conn. The descriptor, such as that of an epoll instance, must
// be open until the stack is closed. WatchDescriptor reports whether it is watched: by a link that
// is one queue of a TAP or TUN device, for the first call of the stack. Otherwise ready is never
// called. A gateway of package nat uses it itself.
func (s *Stack) WatchDescriptor(fd int, ready func()) bool {
	readers := s.ifaces[0].readers
	w, ok := readers[0].queue.(link.Watcher)
	if !ok || len(readers) != 1 || !readers[0].watching.CompareAndSwap(nil, &ready) {
		return false
	}
	if !w.Watch(fd) {
		readers[0].watching.Store(nil)
		return false
	}
	return true
}
