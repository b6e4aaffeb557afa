package chat

import (
	"errors"

	"weir/chat/irc"
)

// handlers run the commands that checkCommand admits. They are called with Service.mu held and
// never block.
var handlers map[string]func(*session, *irc.Message)

// Set in init, because some handlers refer to the map.
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

// runCommandLocked runs a command. The caller holds mu.
func (s *session) runCommandLocked(m *irc.Message) {
	s.svc.counts.Commands++
	label := ""
	if s.has(irc.CapLabeledResponse) {
		if _, l := m.GetTag("label"); l != "" && len(l) <= 64 {
			label = irc.EscapeTag(l)
		}
	}
	s.beginCommand(label)
	if s.checkCommand(m) {
		handlers[m.Command](s, m)
	}
	if len(s.work) > 0 {
		s.runWorkLocked() // finishes the command
	} else {
		s.finishCommand()
	}
}

// checkCommand reports whether a command can be run. If not, it replies with the reason.
func (s *session) checkCommand(m *irc.Message) bool {
	c, known := irc.Commands[m.Command]
	switch {
	case !known:
		s.numeric(irc.ErrUnknownCommand, irc.Word(irc.Cut(m.Command, 32)), "Unknown command")
	case s.user == nil && c.When == irc.Registered:
		s.numeric(irc.ErrNotRegistered, "You have not registered")
	case len(m.Params) < c.Min:
		s.numeric(irc.ErrNeedMoreParams, m.Command, "Not enough parameters")
	default:
		return true
	}
	return false
}

// replyParseError replies to a line that cannot be parsed.
func (s *session) replyParseError(err error) {
	s.beginCommand("")
	switch {
	case errors.Is(err, irc.ErrUTF8):
		s.fail("*", "INVALID_UTF8", "Lines must be UTF-8")
	case errors.Is(err, irc.ErrTooLong):
		s.numeric(irc.ErrInputTooLong, "Input line was too long")
	default:
		s.fail("*", "INVALID_MESSAGE", "The line contains a forbidden byte, or no command")
	}
}

func (s *session) cmdPing(m *irc.Message) { s.reply("PONG", s.svc.fixed.Name, m.Params[0]) }

func (s *session) cmdQuit(m *irc.Message) {
	words := "Quit"
	if text := irc.Param(m, 0); text != "" {
		words = "Quit: " + irc.Cut(text, irc.MaxTopic)
	}
	s.replies = append(s.replies, "ERROR :Closing link ("+words+")\r\n"...)
	s.endErr = &quitError{words}
}
