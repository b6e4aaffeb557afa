// Package oneloop is the common part of generators that offer their load from one locked thread:
// the state shared by the thread and its controller, the thread's wait, and the controller, which
// reports events and executes commands.
//
// # Limitations
//
// Linux only, for the wait and the controller.
package oneloop
