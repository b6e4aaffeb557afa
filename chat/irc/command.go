package irc

// When says when a command may be used.
type When uint8

// The times of a command.
const (
	Registered When = iota // by users only
	Anytime                // also before
	Before                 // only before
)

// Command is what can be checked about a command before it is run.
type Command struct {
	Min  int // parameters it needs
	When When
	Free bool // not counted by flood limits: it costs next to nothing and answers the server
}

// Commands are those that are known.
var Commands = map[string]Command{
	"CAP": {Min: 1, When: Anytime}, "NICK": {When: Anytime}, "USER": {Min: 4, When: Anytime}, "PASS": {Min: 1, When: Anytime},
	"AUTHENTICATE": {Min: 1, When: Anytime}, "PING": {Min: 1, When: Anytime}, "PONG": {When: Anytime, Free: true}, "QUIT": {When: Anytime, Free: true},
	"AWAY": {When: Anytime}, "BATCH": {Min: 1, Free: true}, "REGISTER": {Min: 3, When: Anytime}, "VERIFY": {Min: 2, When: Anytime},

	"JOIN": {Min: 1}, "PART": {Min: 1}, "NAMES": {}, "TOPIC": {Min: 1}, "LIST": {}, "INVITE": {}, "KICK": {Min: 2}, "MODE": {Min: 1}, "RENAME": {Min: 2},
	"PRIVMSG": {}, "NOTICE": {}, "TAGMSG": {Min: 1}, "REDACT": {Min: 2}, "CHATHISTORY": {}, "SEARCH": {Min: 1}, "FILEHOST": {Min: 1}, "UPLOAD": {}, "MARKREAD": {}, "METADATA": {Min: 2},
	"WHO": {Min: 1}, "WHOIS": {}, "WHOWAS": {}, "ISON": {Min: 1}, "USERHOST": {Min: 1}, "MONITOR": {Min: 1}, "SETNAME": {Min: 1},
	"LUSERS": {}, "MOTD": {}, "VERSION": {}, "TIME": {}, "ADMIN": {}, "INFO": {}, "STATS": {Min: 1}, "LINKS": {}, "HELP": {}, "OPER": {Min: 2}, "KILL": {Min: 1}, "KLINE": {}, "UNKLINE": {Min: 1},
}

// Silent says whether errors of a command are kept from its sender: NOTICE must never be answered.
func Silent(command string) bool { return command == "NOTICE" }
