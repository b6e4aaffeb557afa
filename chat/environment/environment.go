// Package environment states what the core of a chat (package chat/core) needs of the world around
// it: storage, accounts, search, and the connections of its clients. Package chat and the tests of
// the core implement it.
//
// # Limitations
//
// It has interfaces only, and their methods have the types of packages chat/log and chat/account.
package environment

import (
	"errors"
	"time"

	"weir/chat/account"
	"weir/chat/log"
	"weir/chat/search"
)

// Environment is what a core needs of the world. The methods of Storage and Searcher, and those of
// Accounts that say so, wait: only jobs call them.
type Environment struct {
	Storage  Storage
	Accounts Accounts
	Searcher Searcher
	Fanout   Fanout
	// returns a text that no client can guess
	RandomText func() string
}

// Conn is the connection of a session. Its methods do not wait.
type Conn interface {
	// Send sends a text, and reports whether the connection took it: not if it is closed, or its
	// queue is full.
	Send([]byte) bool
	// Post wakes the session, soon.
	Post()
	// Close closes the connection.
	Close()
	// Delivered reports whether all output has left this process, and whether the client's system
	// has acknowledged it.
	Delivered() (sent, acknowledged bool)
	// CanMove reports whether the connection can be handed over to another process.
	CanMove() bool
}

// Fanout sends texts to many connections. Only jobs call it.
type Fanout interface {
	// SendAll sends each text to its connection, as Conn.Send does.
	SendAll([]Outgoing)
}

// Outgoing is a text for one connection.
type Outgoing struct {
	Conn  Conn
	Text  []byte
	Taken *bool // receives whether the connection took the text
}

// Storage holds logs and files of conversations. Names are paths in the data directory.
type Storage interface {
	OpenLog(path string) (Log, error)
	// ReadFile returns the contents of a file, nil if there is none.
	ReadFile(path string) ([]byte, error)
	// ReplaceFile replaces a file durably. After an error it has its old contents, or holds the new
	// ones and may lose them. It creates the folder of metadata.
	ReplaceFile(path string, contents []byte) error
	// CloseLog closes a log and removes its folder if nothing was ever stored there.
	CloseLog(path string, l Log) error
	// IsUnused reports whether nothing was ever stored in a conversation.
	IsUnused(path string, l Log) bool
	// HasRoom reports whether there is a room.
	HasRoom(name string) bool
	// DeleteRoom removes the folder of a room durably, or changes nothing.
	DeleteRoom(name string) error
	// Renamed returns the present name of a room that had another one.
	Renamed(name string) (newName string, ok bool)
	// Relink lets the former name of a room redirect to the present one.
	Relink(former, name string) error
	// Rename renames the folder of a room and replaces its state file, or changes nothing. The
	// error is data.ErrTaken if the name is in use.
	Rename(old, name string, state []byte) error
	// DirectPartners returns the accounts with which an account has a direct conversation.
	DirectPartners(account string) []string
}

// Log is the log of a conversation: see [log.Log]. All methods but ID, First and
// Committed wait.
type Log interface {
	ID() string
	First() int64
	Committed() int64
	Append([]log.Entry) (log.Batch, error)
	Latest(n int, before int64) ([]log.Line, error)
	After(from int64, n int) ([]log.Line, error)
	At(offset int64) (log.Line, error)
	Seek(time.Time) (int64, error)
	Redact(offsets ...int64) error
	Retain(age time.Duration, bytes int64, now time.Time) (removed int64, err error)
	Close() error
}

// Accounts holds the accounts, bans and read markers: see [account.Store].
type Accounts interface {
	// Lookup returns nil for an account that does not exist or was removed.
	Lookup(name string) *account.Account
	IsReserved(name string) bool
	Banned(account.Client, time.Time) (account.Ban, bool)
	Bans() []account.Ban
	Generation() uint64
	Scram() *account.Scram
	SetReadMarker(account, device, log string, offset int64)

	// These wait.
	ReadMarker(account, device, log string) (offset int64, ok bool)
	SaveReadMarker(account, device, log string, offset int64) error
	Plain(name, password string) (account.Login, error)
	External(authzid, fingerprint string) (account.Login, error)
	Register(name, password, invite string) (*account.Account, error)
	Ban(account.Ban) (account.Ban, error)
	Unban(pattern string) error
}

// Searcher searches messages.
type Searcher interface {
	// Find returns the messages that match, in the order that the options name, and how long it
	// took. The error is ErrSearchTimeout if it took too long.
	Find(search.Query, search.Options) (found []search.Result, took time.Duration, err error)
}

var ErrSearchTimeout = errors.New("chat: the search took too long")
