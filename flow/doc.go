// Package flow runs the stages of a service, one after another, in one of two ways, and meters
// them.
//
// A [Net] is a set of stages joined by edges. A stage takes a batch of items and hands items on
// through its numbered ports; an edge leads from a port to a stage. The same net runs by
//
//   - [Chain]: handing on is a call. Whoever calls [Net.Put] carries the batch through all stages
//     and has it behind it when Put returns. Nothing is queued; several callers work side by side.
//   - [Network]: a goroutine for each stage (or Stage.Width of them), with a bounded queue of
//     batches before it, in the manner of communicating processes. Put returns when the batch is in
//     the first queue.
//
// # Ownership
//
// An item belongs to the stage that has it, and to the next from the moment it is handed on. The
// batch given to Do is dead when Do returns, unless it was handed on whole with [Out.Pass], which
// is the cheapest way. The batch given to Put is the caller's again when Put returns.
//
// Each owner (a caller of Put while it is at work, and a worker, which is a stage's goroutine) has
// a lane of counters, in cache lines of its own, written without locked instructions. It shows them
// to [Net.Snapshot] every 64 batches and whenever it goes idle, so a snapshot of a busy net lags by
// at most 64 batches an owner. Service times are measured for one batch in 64.
//
// # Queues
//
// By Network, edges into one stage share its queue, which holds the sum of their Caps in batches of
// at most [MaxBatch] items. What happens when it is full is the edge's [Policy]: wait, drop and
// count, or refuse, which gives the items to the net's error function; of a full entry, Put's
// caller hears. A cycle of waiting edges could wait for itself, and is refused by [New]. Where an
// edge leads back to a stage, or does not wait, beside another one, each has the room of its own
// Cap: what is retried does not starve beside an entry that is always full.
//
// By Chain an edge is never full. Callers beyond a stage's Width wait before it, however many there
// are: who wants to turn some away does so before Put, or in a stage ahead.
//
// A stage puts items into its own net by [Out.Put], which never waits: the batch is kept beside the
// entry's queue, or by Chain until the outermost stage has returned. [Net.Put] is for callers
// outside the net. It waits, and a stage that called it could wait for itself.
//
// # Stop
//
// When the context of [Net.Run] ends, or [Net.Stop] is called: [Net.Put] takes nothing more; its
// callers come home; what is under way passes through to its end; when all edges have delivered
// what they took, the queues are closed and the workers end; Run returns. At the deadline the
// queues are closed as they are: who waits is sent home, what is queued goes to the error function
// with [ErrStopped], as does what is handed on later, and Run returns [ErrDeadline]. A Do that
// never returns keeps its goroutine, for Go cannot end it.
//
// # Panics
//
// A stage that panics loses the items it had in hand, which go to the error function with a
// [PanicError]; those it had handed on go on, and so does the stage. A stage made by [Each] has one
// item in hand. By Chain, when a stage had a single item and one behind it panics on what it was
// handed, its own Do ends there too, by the same panic: deferred calls run, what follows does not.
//
// A stage that ends its goroutine (runtime.Goexit) has panicked with [ErrGoexit]: no later item
// passes it by. By Network another goroutine takes the worker's place. By Chain the goroutine is
// the caller's of Put, which ends, as Go demands, when the rest of the batch of at most MaxBatch
// has passed through.
//
// # Limitations
//
// One item type for a net. A net runs once, in one process, and is not rewired while it runs. The
// order of items is kept along a path whose stages have a Width of at most one by Network, and for
// each caller by Chain.
package flow
