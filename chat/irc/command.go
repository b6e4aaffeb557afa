package irc

// When states when a command is allowed.
type When uint8

// The values of When.
const (
	Registered When = iota // after registration
	Always                 // before and after registration
	Before                 // before registration only
)

// Command has the checks that precede the execution of a command.
type Command struct {
	Min  int // least number of parameters
	When When
	// what it says of members must precede later notifications of other clients
	Ordered bool
	Free    bool // exempt from flood limits: it ends the connection
}

// Commands lists the known commands.
var Commands = map[string]Command{
	"CAP": {Min: 1, When: Always}, "NICK": {When: Always, Ordered: true}, "USER": {Min: 4, When: Always}, "PASS": {Min: 1, When: Always},
	"AUTHENTICATE": {Min: 1, When: Always}, "PING": {Min: 1, When: Always}, "PONG": {When: Always}, "QUIT": {When: Always, Free: true},
	"AWAY": {When: Always}, "BATCH": {Min: 1}, "REGISTER": {Min: 3, When: Always}, "VERIFY": {Min: 2, When: Always},

	"JOIN": {Min: 1}, "PART": {Min: 1, Ordered: true}, "NAMES": {Ordered: true}, "TOPIC": {Min: 1}, "LIST": {}, "INVITE": {}, "KICK": {Min: 2}, "MODE": {Min: 1}, "RENAME": {Min: 2},
	"PRIVMSG": {}, "NOTICE": {}, "TAGMSG": {Min: 1}, "REDACT": {Min: 2}, "CHATHISTORY": {}, "SEARCH": {Min: 1}, "FILEHOST": {Min: 1}, "UPLOAD": {}, "MARKREAD": {}, "METADATA": {Min: 2},
	"WHO": {Min: 1, Ordered: true}, "WHOIS": {}, "WHOWAS": {}, "ISON": {Min: 1}, "USERHOST": {Min: 1}, "MONITOR": {Min: 1}, "SETNAME": {Min: 1},
	"LUSERS": {}, "MOTD": {}, "VERSION": {}, "TIME": {}, "ADMIN": {}, "INFO": {}, "STATS": {Min: 1}, "LINKS": {}, "HELP": {}, "OPER": {Min: 2}, "KILL": {Min: 1}, "KLINE": {}, "UNKLINE": {Min: 1},
}

// Silent reports whether a command gets no error replies: NOTICE must never be answered (RFC 2812,
// section 3.3.2).
func Silent(command string) bool { return command == "NOTICE" }
