// Package agent offers one load from several machines at the same time.
//
// A Coordinator listens: it embeds a NATS server, with TLS and a token. On every load machine an
// agent (Serve) connects, announces its name, cores and version, and waits. A Session gives each
// agent a share of a load, as arguments of weir load with the files that these name. It is steered
// like one generator process: commands in, events out, one merged report at the end. An agent
// beside a server offers no load: it measures the server's processes in the same windows.
//
// A Disturbance is the error of a session that an agent spoiled. The measurement can be repeated,
// once there are enough agents again.
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
// program but weir load, and no flag that names a file which did not come with the load. With the
// token a stranger can pose as an agent. The server's permissions do not let it command one, and
// every message has limits.
//
// # Limitations
//
// Two builds without a version are taken for the same version. The rate by which two clocks differ
// is limited, not measured. There is no reconnection: an agent that loses its connection has fallen
// out. Arrivals of different agents do not depend on one another: only the window is common.
package agent
