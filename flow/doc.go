// Package flow runs a service as a network of stages, by one of two concurrency models, and counts
// what passes through them.
//
// A [Net] is a set of stages joined by edges. A stage receives a batch of items and sends items on
// through its numbered ports; an edge leads from a port to a stage. The same net runs by
//
//   - [Chain]: run to completion. Sending is a call: the caller of [Net.Put] carries the batch
//     through all stages before Put returns. Nothing is queued; several callers run concurrently.
//   - [Network]: a pipeline. Each stage has a goroutine (or Stage.Width of them) and a bounded
//     queue of batches, in the manner of communicating sequential processes. Put returns when the
//     batch is in the first queue.
//
// # Ownership
//
// An item belongs to the stage that has it, and to the next stage from the moment it is sent on.
// The slice given to Do is valid only until Do returns. [Out.Pass] sends it on whole, which is the
// cheapest way. The slice given to Put belongs to the caller again when Put returns.
//
// An owner runs stages: a caller of Put while its call is under way, or a worker, which is a
// goroutine of a stage. Each owner has a shard of counters, in cache lines of its own, which it
// writes without locked instructions. It publishes them to [Net.Snapshot] every 64 batches and
// whenever it goes idle, so a snapshot of a busy net lags by at most 64 batches for each owner.
// Service times are measured for one batch in 64.
//
// # Queues and backpressure
//
// By Network, the edges into one stage share its queue, which holds the sum of their Caps in
// batches of at most [MaxBatch] items. The edge's [Policy] decides what happens when it is full.
// Wait blocks the sender (backpressure), Drop drops and counts, Refuse gives the items to the net's
// error function. Put's return value reports what a full entry refused. [New] rejects a cycle of
// waiting edges, which could deadlock. If an edge leads back to a stage, or does not wait, beside
// another edge, each of them has room for its own Cap. So a retried item does not starve while the
// entry is always full.
//
// By Chain an edge is never full. Callers beyond a stage's Width wait before the stage, without a
// limit on their number. A service that must reject some does so before Put, or in an earlier
// stage.
//
// A stage puts items into its own net by [Out.Put], which never waits. The batch is kept beside the
// entry's queue, or by Chain until the outermost stage has returned. [Net.Put] is for callers
// outside the net: it waits, so a stage that called it could deadlock.
//
// # Stop
//
// A graceful stop starts when the context of [Net.Run] ends, or at [Net.Stop]. [Net.Put] takes
// nothing more, and everything under way passes through to its end. When all edges have delivered
// what they took, the queues are closed, the workers end, and Run returns. At the deadline the
// queues are closed as they are. Waiting senders return; queued items, and items that are sent
// later, go to the error function with [ErrStopped]; Run returns [ErrDeadline]. A Do that never
// returns keeps its goroutine, because Go cannot end it.
//
// # Panics
//
// A stage that panics loses the items in hand, which go to the error function with a [PanicError].
// Items that it had sent on continue, and so does the stage. A stage made by [Each] has one item in
// hand. By Chain, if a stage had a single item and a later stage panics on what it was sent, the
// earlier Do ends there too, by the same panic. Its deferred calls run; the rest of it does not.
//
// A stage that ends its goroutine (runtime.Goexit) counts as panicked, with [ErrGoexit]: no later
// item skips the stage. By Network another goroutine replaces the worker. By Chain the goroutine is
// that of Put's caller, and Go demands that it ends. It ends after the rest of its batch of at most
// MaxBatch items has passed through.
//
// # Limitations
//
// A net has one item type. It runs once, in one process, and its edges do not change while it runs.
// The order of items is kept along a path whose stages have a Width of at most one by Network, and
// for each caller by Chain.
package flow
