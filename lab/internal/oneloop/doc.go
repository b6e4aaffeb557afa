// Package oneloop offers every load from one locked thread. A Loop is what differs between loads:
// how they connect, send and check. State is what they share: it opens the connections, waits for
// events and for due times in one epoll_wait, sends what is due, keeps the measured window and its
// counts, and waits for the last answers. The goroutine that called Run is its controller: it
// reports events and executes commands.
//
// # Limitations
//
// Linux only, for the wait and the controller.
package oneloop
