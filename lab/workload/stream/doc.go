// Package stream is the workload of byte streams: messages on TCP connections that a server prints
// (sink) or echoes (echo).
//
// # Limitations
//
// A slow server passes the contract: nothing is measured here.
package stream
