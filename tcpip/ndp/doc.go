// Package ndp is the host's part of IPv6 autoconfiguration as pure functions: prefixes in,
// addresses out. Package neigh resolves neighbours and detects duplicate addresses.
//
// # Limitations
//
// Router advertisements are not processed.
package ndp
