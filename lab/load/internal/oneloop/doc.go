// Package oneloop is what generators have in common that offer their load from one locked thread:
// what the thread and its controller tell one another, the thread's wait, and the controller, which
// tells events and serves commands.
//
// # Limitations
//
// The wait and the controller are Linux's.
package oneloop
