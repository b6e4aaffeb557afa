// Package chat is the workload of chat rooms.
//
// # Limitations
//
// IRC only, and of it only what a member of a room needs.
package chat
