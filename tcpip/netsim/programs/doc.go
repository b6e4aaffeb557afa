// Package programs runs well-known programs unmodified in the virtual networks of package netsim:
// gRPC, SSH, NATS, etcd's raft, go-redis and pgx. It is a module of its own, so that what they need
// stays out of Weir's. It consists of tests, which are examples of what to pass to each.
//
// # Limitations
//
// The servers of Redis and PostgreSQL are small ones that speak the protocol. The NATS server
// listens nowhere itself: a few lines join it to a listener of its host.
package programs

import "net"

type conn = net.Conn
