// Package planted checks that the worlds of packages internal/worlds/chat, internal/worlds/web and
// chat/core find bugs: it plants known ones, one at a time, and counts the seeds until each is
// found. It contains only tests.
//
// A bug is one change of one line, which is compiled into a test by an overlay (go build
// -overlay): the source is not touched, and has no switch for it. The ordinary test checks that
// each change can still be made. With WEIR_PLANTED_SEEDS, the number of seeds to try, the bugs are
// planted; with the flag -update too, the tables in docs/tested-in-worlds.md and
// docs/how-chat-is-tested.md are written. WEIR_PLANTED_WORLDS=core selects those of one kind:
//
//	WEIR_PLANTED_SEEDS=400 go test -timeout 1h ./internal/worlds/planted -update
//
// # Limitations
//
// A bug counts as found when any property fails. The seeds that find it change with the worlds,
// and with all that draws random numbers in them.
package planted
