// Package agent offers one load from several machines at the same time.
//
// A Coordinator listens: it embeds a NATS server, with TLS and a token. On every load machine an
// agent (Serve) connects, announces its name, cores and version, and waits. A Session gives each
// agent one part of a load, as arguments of weir load, and is steered like one generator process:
// commands in, events out, one merged report at the end.
//
// # Time
//
// All times are of CLOCK_MONOTONIC, which no clock adjustment steps. The coordinator measures how
// far each agent's clock is ahead of its own, by exchanges as in NTP (RFC 5905, section 8), and
// keeps the fastest. Half of its round trip bounds the error. It does so before and after a window,
// and rejects a clock that moved. The window starts at one agreed time: each agent waits until it,
// and then commands its generator. The generator's own event says when the window really started.
//
// # Trust
//
// An agent trusts only the coordinator whose certificate has the given fingerprint. It runs no
// program but weir load, and no flag that names a file. With the token a stranger can pose as an
// agent. The server's permissions do not let it command one.
//
// # Limitations
//
// Two builds without a version are taken for the same version. The merged report has what all loads
// share (load.Report); what only one kind of load reports is in the parts. The rate by which two
// clocks differ is limited, not measured. There is no reconnection: an agent that loses its
// connection has fallen out.
package agent
