package chat

import (
	"errors"

	"weir/chat/irc"
)

// handlers run commands that irc.Commands lets through. They are called with Service.mu held, and
// never block.
var handlers map[string]func(*session, *irc.Message)

// Filled when the program starts, because some handlers run others.
func init() {
	handlers = map[string]func(*session, *irc.Message){
		"CAP": (*session).cmdCap, "NICK": (*session).cmdNick, "USER": (*session).cmdUser, "PASS": (*session).cmdPass, "AUTHENTICATE": (*session).cmdAuthenticate,
		"PING": (*session).cmdPing, "PONG": func(*session, *irc.Message) {}, "QUIT": (*session).cmdQuit, "REGISTER": (*session).cmdRegister, "VERIFY": (*session).cmdVerify,
		"AWAY": (*session).cmdAway, "SETNAME": (*session).cmdSetname, "MONITOR": (*session).cmdMonitor, "ISON": (*session).cmdIson, "USERHOST": (*session).cmdUserhost,
		"JOIN": (*session).cmdJoin, "PART": (*session).cmdPart, "NAMES": (*session).cmdNames, "LIST": (*session).cmdList, "TOPIC": (*session).cmdTopic,
		"INVITE": (*session).cmdInvite, "KICK": (*session).cmdKick, "MODE": (*session).cmdMode, "RENAME": (*session).cmdRename,
		"PRIVMSG": (*session).cmdMessage, "NOTICE": (*session).cmdMessage, "TAGMSG": (*session).cmdMessage, "BATCH": (*session).cmdBatch, "REDACT": (*session).cmdRedact,
		"CHATHISTORY": (*session).cmdHistory, "SEARCH": (*session).cmdSearch, "FILEHOST": (*session).cmdFilehost, "UPLOAD": (*session).cmdUpload,
		"MARKREAD": (*session).cmdMarkRead, "METADATA": (*session).cmdMetadata,
		"WHO": (*session).cmdWho, "WHOIS": (*session).cmdWhois, "WHOWAS": (*session).cmdWhowas,
		"LUSERS": (*session).cmdLusers, "MOTD": (*session).cmdMOTD, "VERSION": (*session).cmdVersion, "TIME": (*session).cmdTime, "ADMIN": (*session).cmdAdmin, "INFO": (*session).cmdInfo,
		"STATS": (*session).cmdStats, "LINKS": (*session).cmdLinks, "HELP": (*session).cmdHelp,
		"OPER": (*session).cmdOper, "KILL": (*session).cmdKill, "KLINE": (*session).cmdKline, "UNKLINE": (*session).cmdUnkline,
	}
}

// command runs a command. The caller holds the lock.
func (s *session) command(m *irc.Message) {
	s.svc.counts.commands.Add(1)
	label := ""
	if s.has(irc.CapLabeledResponse) {
		if _, l := m.GetTag("label"); l != "" && len(l) <= 64 {
			label = irc.EscapeTag(l)
		}
	}
	s.begin(label)
	if s.allowed(m) {
		handlers[m.Command](s, m)
	}
	if s.job == nil { // otherwise it ends at the desk
		s.finish()
	}
}

// allowed says whether a command can be run, and tells the client if not.
func (s *session) allowed(m *irc.Message) bool {
	c, known := irc.Commands[m.Command]
	switch {
	case !known:
		s.num(irc.ErrUnknownCommand, irc.Word(irc.Cut(m.Command, 32)), "Unknown command")
	case s.user == nil && c.When == irc.Registered:
		s.num(irc.ErrNotRegistered, "You have not registered")
	case len(m.Params) < c.Min:
		s.num(irc.ErrNeedMoreParams, m.Command, "Not enough parameters")
	default:
		return true
	}
	return false
}

// misread answers a line that cannot be parsed.
func (s *session) misread(err error) {
	s.begin("")
	switch {
	case errors.Is(err, irc.ErrUTF8):
		s.fail("*", "INVALID_UTF8", "Lines have to be UTF-8")
	case errors.Is(err, irc.ErrTooLong):
		s.num(irc.ErrInputTooLong, "Input line was too long")
	default:
		s.fail("*", "INVALID_MESSAGE", "The line holds a byte that no line may hold, or no command")
	}
}

func (s *session) cmdPing(m *irc.Message) { s.say("PONG", s.svc.o.Name, m.Params[0]) }

func (s *session) cmdQuit(m *irc.Message) {
	words := "Quit"
	if text := irc.Param(m, 0); text != "" {
		words = "Quit: " + irc.Cut(text, irc.MaxTopic)
	}
	s.out = append(s.out, "ERROR :Closing link ("+words+")\r\n"...)
	s.over = &quitting{words}
}
