package host

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"weir/chat"
)

// options returns the options of the chat service.
func (c *Config) options() (chat.Options, error) {
	l := c.Limits
	o := chat.Options{Name: c.Server.Name, Network: c.Server.Network, MOTD: c.Server.MOTD, NoSearch: c.Server.NoSearch,
		Registration: c.Accounts.registration(), LoginOnly: c.Accounts.LoginOnly,
		MaxConnections: l.Connections, MaxPerAddress: l.PerAddress, MaxUnregistered: l.Unregistered, MaxUnregisteredPerAddress: l.UnregisteredPerAddress, STS: c.TLS.sts(), MaxRooms: l.Rooms, MaxRoomsPerUser: l.UserRooms,
		PingAfter: l.Alive.Std(), RegistrationTimeout: l.Begin.Std(), MaxReplay: l.Replay, MaxHistory: l.History}
	switch {
	case l.Flood == nil:
	case *l.Flood == 0:
		o.CommandsPerSecond = -1
	default:
		o.CommandsPerSecond = *l.Flood
	}
	if c.Server.MOTDFile != "" {
		text, err := os.ReadFile(c.Server.MOTDFile)
		if err != nil {
			return o, &Problem{"server.motd_file", fmt.Sprintf("%v: write the path of a text, or leave it out", err)}
		}
		o.MOTD = string(text)
	}
	return o, c.TLS.checkFiles()
}

// logger returns a logger that writes to w (nil: nowhere), and its adjustable level.
func (l *Log) logger(w io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(l.level())
	if w == nil {
		return slog.New(slog.DiscardHandler), level
	}
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o)), level
	}
	return slog.New(slog.NewTextHandler(w, o)), level
}

func (l *Log) level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(l.Level)) // valid: checked by Check; "" is info
	return level
}
