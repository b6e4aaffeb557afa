// Package stack is the workload of TCP/IP stacks, which are not servers: the kernel on the other
// side of a network of their own connects to the services on them.
//
// # Limitations
//
// Linux only, as root: each stack has a network namespace of its own.
package stack
