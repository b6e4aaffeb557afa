package tui

import (
	"fmt"
	"slices"
	"strings"

	"weir/chat/client"
)

// command is a command of a line that starts with /.
type command struct {
	name, usage, summary string
	run                  func(m *Model, args string)
}

// commands are sorted by name. They are initialized in init because help lists them.
var commands []command

func init() {
	commands = []command{
		{"delete", "", "delete the chosen message, or your last one", (*Model).deleteMessage},
		{"help", "", "show this list", (*Model).help},
		{"join", "ROOM [KEY]", "join a room, or create it", (*Model).join},
		{"me", "TEXT", "send an action: /me waves", func(m *Model, a string) { m.say(client.ActionMessage, a) }},
		{"msg", "NICK [TEXT]", "send a direct message", (*Model).msg},
		{"names", "", "list the members of this room", (*Model).names},
		{"nick", "NAME", "change your nick", (*Model).nick},
		{"part", "[REASON]", "leave this room, or close this conversation", (*Model).part},
		{"quit", "[REASON]", "quit weir", (*Model).quit},
		{"react", "EMOJI", "react to the chosen message, or the last one", (*Model).react},
		{"register", "[INVITE]", "create an account with your nick", (*Model).register},
		{"reply", "TEXT", "reply to the chosen message, or the last one", (*Model).reply},
		{"search", "WORDS", "search the messages of all your rooms", (*Model).startSearch},
		{"theme", "dark|light|none", "change the colours", (*Model).setTheme},
		{"topic", "[TEXT]", "show or set the room's topic", (*Model).topic},
		{"upload", "FILE", "upload a file and insert its link", (*Model).upload},
		{"whois", "NICK", "show who a user is", (*Model).whois},
	}
}

// submit processes the typed line.
func (m *Model) submit() {
	if register := m.passwordInput; register != nil {
		m.passwordInput, m.notes = nil, nil
		register(m.input.takeHidden())
		return
	}
	line := m.input.take()
	m.notes = nil
	switch {
	case strings.TrimSpace(line) == "":
	case strings.HasPrefix(line, "//"):
		m.say(client.TextMessage, line[1:])
	case line[0] == '/':
		m.runCommand(line[1:])
	default:
		m.say(client.TextMessage, line)
	}
}

func (m *Model) runCommand(line string) {
	name, args, _ := strings.Cut(line, " ")
	name = strings.ToLower(name)
	at := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if at < 0 {
		m.note("unknown command /" + name + ": /help lists the commands; // sends a text that starts with /")
		return
	}
	commands[at].run(m, strings.TrimSpace(args))
}

func (m *Model) say(kind client.MessageKind, text string) {
	switch {
	case m.current == nil:
		m.note("you are in no room: /join #room")
	case text == "":
	case !m.current.Joined && m.client.State() == client.Online:
		m.note("you are not in " + m.current.Name + " any more: /join " + m.current.Name)
	default:
		m.chosen = 0
		m.bottom()
		m.client.Send(m.current, kind, text)
	}
}

func (m *Model) help(string) {
	for _, c := range commands {
		m.note(fmt.Sprintf("/%-22s %s", c.name+" "+c.usage, c.summary))
	}
	m.note("Tab completes · Alt-↑ Alt-↓ or Ctrl-P Ctrl-N: rooms · Alt-A: unread · Alt-M: mentions · Alt-K Alt-J: choose a message · PgUp PgDn: scroll · Esc: to the end · Ctrl-C: quit")
	m.notesOffset = 0
}

func (m *Model) join(args string) {
	room, key, _ := strings.Cut(args, " ")
	if room == "" {
		m.note("/join needs a room's name: /join #garden")
		return
	}
	m.client.Join(room, strings.TrimSpace(key))
}

func (m *Model) msg(args string) {
	nick, text, _ := strings.Cut(args, " ")
	if nick == "" || strings.ContainsAny(nick[:1], "#:") || strings.Contains(nick, ",") {
		m.note("/msg needs a nick: /msg ann hello")
		return
	}
	if v := m.client.OpenDirect(nick); v != nil {
		m.show(v)
		m.say(client.TextMessage, strings.TrimSpace(text))
	}
}

func (m *Model) names(string) {
	if m.current == nil || !m.current.Room {
		m.note("/names is for rooms")
		return
	}
	var names []string
	for _, member := range m.current.Members {
		names = append(names, member.Prefix+member.Nick)
	}
	m.note(fmt.Sprintf("%d in %s: %s", len(names), m.current.Name, strings.Join(names, " ")))
}

func (m *Model) nick(args string) {
	if args == "" || strings.Contains(args, " ") {
		m.note("/nick needs one word: /nick ann")
		return
	}
	m.client.SetNick(args)
}

func (m *Model) part(args string) {
	if m.current == nil {
		m.note("you are in no room")
		return
	}
	m.client.Part(m.current, args)
}

func (m *Model) topic(args string) {
	switch {
	case m.current == nil || !m.current.Room:
		m.note("/topic is for rooms")
	case args != "":
		m.client.SetTopic(m.current, args)
	case m.current.Topic == "":
		m.note(m.current.Name + " has no topic")
	default:
		m.note(m.current.Topic)
	}
}

func (m *Model) whois(args string) {
	if args == "" || strings.Contains(args, " ") {
		m.note("/whois needs one nick")
		return
	}
	m.client.Command("WHOIS " + args)
}

func (m *Model) setTheme(args string) {
	theme, ok := themes[args]
	if !ok {
		m.note("/theme is dark, light or none")
		return
	}
	m.theme, m.auto = theme, false
}
