package host

// Config is how a chat is hosted. The zero value of a field gives its default. It is not changed
// once Open or Reload has it. docs/chat-config.md explains each key. Durations and sizes are text
// in the file; see [Duration] and [Size].
type Config struct {
	Data string `toml:"data"` // the data directory; made if it is not there. No default
	// HOST:PORT for IRC clients in clear text. Default 127.0.0.1:6667; an empty list: nowhere
	Listen []string `toml:"listen"`
	// how connections are run: loop, goroutine, pool or coroutine. Default loop where there is
	// epoll, goroutine elsewhere
	Run   string   `toml:"run"`
	Loops int      `toml:"loops"` // event loops for loop and coroutine, 1 to 1,024. Default 1
	Drain Duration `toml:"drain"` // how long a stop may take, 100 ms to 10 min. Default 5 s

	TLS       TLS       `toml:"tls"`
	Proxy     Proxy     `toml:"proxy"`
	Server    Server    `toml:"server"`
	Accounts  Accounts  `toml:"accounts"`
	Limits    Limits    `toml:"limits"`
	Retention Retention `toml:"retention"`
	Web       Web       `toml:"web"`
	Upload    Upload    `toml:"upload"`
	Metrics   Metrics   `toml:"metrics"`
	Log       Log       `toml:"log"`

	stamp string // of the file before it was read; "" for none
}

// Server is what clients are told of the server.
type Server struct {
	// what clients know the server by: a word with a dot. Default weir.chat
	Name    string `toml:"name"`
	Network string `toml:"network"` // what clients call it in their lists: a word. Default Weir
	MOTD    string `toml:"motd"`    // what new users read, lines. Default none
	// the same from a file, which is read at the start and at each reload. Default none
	MOTDFile string `toml:"motd_file"`

	NoSearch bool `toml:"no_search"` // there is no search, and no index is kept for it. Default no
	// what is said in a large room is told at once, and not up to 5 ms later together with more of
	// it. Default no
	Prompt bool `toml:"prompt"`
}

// Accounts say who may come in.
type Accounts struct {
	// who may make an account for himself: invite, open or off. Default invite
	Registration string `toml:"registration"`
	LoginOnly    bool   `toml:"login_only"` // only accounts may come in. Default no
}

// Limits bound what clients may do.
type Limits struct {
	// connections at once, 1 to 65,536; more than at the start only from the next start on. Default
	// 10,000
	Connections int `toml:"connections"`
	// connections of one address that is not this machine's; an IPv6 address counts by its first 64
	// bits, 1 to 65,536. The page takes twice as many of an address, from the next start on; a
	// proxy of the page has no limit. Default 64
	PerAddress int `toml:"per_address"`
	// of these, those that have not registered: when there are more the oldest has to go, 1 to
	// 65,536. Default half of connections, at least 256
	Unregistered int `toml:"unregistered"`
	// of these, those of one address, 1 to 65,536. Default half of per_address, at least 16
	UnregisteredPerAddress int `toml:"unregistered_per_address"`
	// rooms and direct conversations that are open at once, 1 to 65,536; more than at the start
	// only from the next start on. Default 16,384
	Rooms int `toml:"rooms"`
	// rooms that a user may be in, 1 to 65,536. Default 256
	UserRooms int `toml:"user_rooms"`
	// commands a second of an account or address, ten times as many at once, 0 to 1,000,000; 0: no
	// limit. Default 10
	Flood *int `toml:"flood"`
	// a client that says nothing for so long is asked, and gone after half of it again, 1 s to 1 d.
	// Default 2 min
	Alive Duration `toml:"alive"`
	// how long registration may take, 1 s to 1 h. Default 30 s
	Begin Duration `toml:"begin"`
	// lines at most that a client without chathistory is replayed in a room, 1 to 100,000. Default
	// 500
	Replay int `toml:"replay"`
	// lines at most of one CHATHISTORY, 1 to 100,000. Default 1,000
	History int `toml:"history"`
}

// Retention says how long messages are kept. Old ones go by segments, so up to a quarter more may
// stay.
type Retention struct {
	// how long a room's messages are kept, 1 min to 100 years. Default: for ever
	RoomAge Duration `toml:"room_age"`
	// how many bytes of a room's messages are kept, 64 KiB and up. Default: all
	RoomBytes Size `toml:"room_bytes"`
	// how long direct messages are kept, 1 min to 100 years. Default: for ever
	DirectAge Duration `toml:"direct_age"`
	// how many bytes of a direct conversation are kept, 64 KiB and up. Default: all
	DirectBytes Size `toml:"direct_bytes"`
}

// Web is the chat's page, and IRC over WebSocket at /irc.
type Web struct {
	Listen []string `toml:"listen"` // HOST:PORT for browsers. Default none: there is no page
	// names that browsers reach the page by, beside localhost, addresses, server.name, this
	// machine's name, and those of upload.url and the certificate. Default none
	Hosts []string `toml:"hosts"`
	// hosts whose pages may connect beside the page's own, such as *.example.org. Default none
	Origins []string `toml:"origins"`
	// addresses and networks of proxies that say by X-Forwarded-For who their clients are. Default
	// none
	Proxies []string `toml:"proxies"`
}

// Metrics is where the server tells how it is: /metrics for Prometheus, /healthz and /readyz.
type Metrics struct {
	Listen string `toml:"listen"` // HOST:PORT, which only operators should reach. Default none
}

// Log is what is written of what happens. It never holds a message's text, nor a password.
type Log struct {
	Format string `toml:"format"` // text or json. Default text
	// debug, info, warn or error: what is less is left out. Default info
	Level string `toml:"level"`
}
