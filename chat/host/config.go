package host

// Config configures a chat server. The zero value of a field selects its default. A Config is
// immutable after Open or Reload. docs/chat-config.md lists all keys, with texts made from these
// comments. Durations and sizes are text in the file: see [Duration] and [Size].
type Config struct {
	Data string `toml:"data"` // data directory, created if it does not exist. No default
	// HOST:PORT for IRC clients in clear text. Default 127.0.0.1:6667; an empty list: none
	Listen []string `toml:"listen"`
	// concurrency model: loop, goroutine, pool or coroutine. Default loop on Linux, goroutine
	// elsewhere
	Model string   `toml:"model"`
	Run   string   `toml:"run"`   // old spelling of model, which still works
	Loops int      `toml:"loops"` // event loops of loop and coroutine, 1 to 1,024. Default 1
	Drain Duration `toml:"drain"` // time limit of a graceful stop, 100 ms to 10 min. Default 5 s

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

	fileVersion string // version of the file when it was read; "" for none
}

// Server describes the server to clients.
type Server struct {
	// server name in replies: a word with a dot. Default weir.chat
	Name string `toml:"name"`
	// network name, which clients show in their lists: a word. Default Weir
	Network string `toml:"network"`
	MOTD    string `toml:"motd"` // message of the day, in lines. Default none
	// file with the message of the day, read at the start and at each reload. Default none
	MOTDFile string `toml:"motd_file"`

	NoSearch bool `toml:"no_search"` // no SEARCH, and no search index. Default no
}

// Accounts configure who may register.
type Accounts struct {
	// who may create an account: invite, open or off. Default invite
	Registration string `toml:"registration"`
	LoginOnly    bool   `toml:"login_only"` // only clients that log in may register. Default no
}

// Limits bound what clients may use.
type Limits struct {
	// open connections, 1 to 65,536; a reload cannot raise it above its value at the start. Default
	// 10,000
	Connections int `toml:"connections"`
	// connections of one address that is not loopback, 1 to 65,536; an IPv6 address counts by its
	// first 64 bits. Browsers may have twice as many, fixed at the start; proxies of the page have
	// no limit. Default 64
	PerAddress int `toml:"per_address"`
	// connections that have not registered, 1 to 65,536; beyond it the oldest is closed. Default
	// half of connections, at least 256
	Unregistered int `toml:"unregistered"`
	// unregistered connections of one address, 1 to 65,536. Default half of per_address, at least
	// 16
	UnregisteredPerAddress int `toml:"unregistered_per_address"`
	// open rooms and direct conversations, 1 to 65,536; a reload cannot raise it above its value at
	// the start. Default 16,384
	Rooms int `toml:"rooms"`
	// rooms that a user may be in, 1 to 65,536. Default 256
	UserRooms int `toml:"user_rooms"`
	// commands per second of an account or address, with bursts of ten times as many, 0 to
	// 1,000,000; 0: no limit. Default 10
	Flood *int `toml:"flood"`
	// a client that is silent for so long is sent a PING, and disconnected after half as long
	// again, 1 s to 1 d. Default 2 min
	Alive Duration `toml:"alive"`
	// time limit of registration, 1 s to 1 h. Default 30 s
	Begin Duration `toml:"begin"`
	// lines per room replayed to a client without chathistory, 1 to 100,000. Default 500
	Replay int `toml:"replay"`
	// lines in one answer to CHATHISTORY, 1 to 100,000. Default 1,000
	History int `toml:"history"`
}

// Retention configures how long messages are kept. Old messages are removed by whole segments, so
// up to a quarter more may stay.
type Retention struct {
	// age limit of messages in rooms, 1 min to 100 years. Default: for ever
	RoomAge Duration `toml:"room_age"`
	// size limit of a room's log, 64 KiB and up. Default: all
	RoomBytes Size `toml:"room_bytes"`
	// age limit of direct messages, 1 min to 100 years. Default: for ever
	DirectAge Duration `toml:"direct_age"`
	// size limit of a direct conversation's log, 64 KiB and up. Default: all
	DirectBytes Size `toml:"direct_bytes"`
}

// Web configures the web page of the chat, and IRC over WebSocket at /irc.
type Web struct {
	Listen []string `toml:"listen"` // HOST:PORT for browsers. Default none: there is no page
	// host names of the page, besides localhost, addresses, server.name, this machine's name, and
	// those of upload.url and the certificate. Default none
	Hosts []string `toml:"hosts"`
	// hosts whose pages may connect besides the page's own, such as *.example.org. Default none
	Origins []string `toml:"origins"`
	// addresses and networks of proxies whose X-Forwarded-For is trusted. Default none
	Proxies []string `toml:"proxies"`
}

// Metrics configures the HTTP server of /metrics (for Prometheus), /healthz and /readyz.
type Metrics struct {
	Listen string `toml:"listen"` // HOST:PORT, which only operators should reach. Default none
}

// Log configures the server's log. It never contains message texts or passwords.
type Log struct {
	Format string `toml:"format"` // text or json. Default text
	// least level that is logged: debug, info, warn or error. Default info
	Level string `toml:"level"`
}
