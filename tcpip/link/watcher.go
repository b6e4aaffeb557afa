package link

// Watcher is implemented by queues whose reader can wait for something else at the same time: those
// of TAP and TUN devices, and of links that wrap them.
type Watcher interface {
	// Watch has Read also return when a descriptor can be read, with no frames if there are none.
	// It reports whether the queue can do that. The descriptor must be open until Watch is called
	// again; -1 is none. Any goroutine may call it.
	Watch(fd int) bool
}
