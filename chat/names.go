package chat

import "weir/chat/core"

// Types of the core that callers of a service use.
type (
	Counts         = core.Counts
	Member         = core.Member
	Peer           = core.Peer
	RoomChange     = core.RoomChange
	RoomState      = core.RoomState
	ThrottledError = core.ThrottledError
)

// Errors that callers of a service recognize.
var (
	ErrNoRoom        = core.ErrNoRoom
	ErrInvalidChange = core.ErrInvalidChange
	ErrNotLoggedIn   = core.ErrNotLoggedIn
	ErrBanned        = core.ErrBanned
)

// Outbox is how many bytes may wait for a client before it is disconnected: for
// serve.Options.SendQueue.
const Outbox = core.Outbox

// HandoverVersion is the version of the state that a service and its sessions hand over. Resume
// rejects any other version.
const HandoverVersion = core.HandoverVersion
