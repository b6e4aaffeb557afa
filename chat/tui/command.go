package tui

import (
	"fmt"
	"slices"
	"strings"

	"weir/chat/client"
)

// command is something that a line beginning with / does.
type command struct {
	name, use, about string
	do               func(m *Model, args string)
}

// commands are sorted by name. Filled in init, because help lists them.
var commands []command

func init() {
	commands = []command{
		{"delete", "", "take the chosen message back, or your last one", (*Model).remove},
		{"help", "", "this list", (*Model).help},
		{"join", "ROOM [KEY]", "go to a room, new or not", (*Model).join},
		{"me", "TEXT", "say what you do: /me waves", func(m *Model, a string) { m.say(client.ActionMessage, a) }},
		{"msg", "NICK [TEXT]", "talk to one person", (*Model).msg},
		{"names", "", "who is here", (*Model).names},
		{"nick", "NAME", "be called otherwise", (*Model).nick},
		{"part", "[WHY]", "leave this room, or close this conversation", (*Model).part},
		{"quit", "[WHY]", "end", (*Model).quit},
		{"react", "SIGN", "say what you think of the chosen message, or the last one", (*Model).react},
		{"register", "[INVITE]", "make an account of your name", (*Model).register},
		{"reply", "TEXT", "answer the chosen message, or the last one", (*Model).reply},
		{"search", "WORDS", "find what was said, in all your rooms", (*Model).look},
		{"theme", "dark|light|none", "how it looks", (*Model).setTheme},
		{"topic", "[TEXT]", "what this room is about", (*Model).topic},
		{"upload", "FILE", "send a file: its link is put where you write", (*Model).upload},
		{"whois", "NICK", "who somebody is", (*Model).whois},
	}
}

// enter takes the typed line.
func (m *Model) enter() {
	if tell := m.secret; tell != nil {
		m.secret, m.notes = nil, nil
		tell(m.input.hidden())
		return
	}
	line := m.input.take()
	m.notes = nil
	switch {
	case strings.TrimSpace(line) == "":
	case strings.HasPrefix(line, "//"):
		m.say(client.TextMessage, line[1:])
	case line[0] == '/':
		m.run(line[1:])
	default:
		m.say(client.TextMessage, line)
	}
}

func (m *Model) run(line string) {
	name, args, _ := strings.Cut(line, " ")
	name = strings.ToLower(name)
	at := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if at < 0 {
		m.note("there is no command /" + name + ": /help lists them, and // begins a text with /")
		return
	}
	commands[at].do(m, strings.TrimSpace(args))
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
		m.note(fmt.Sprintf("/%-22s %s", c.name+" "+c.use, c.about))
	}
	m.note("Tab completes · Alt-↑ Alt-↓ or Ctrl-P Ctrl-N: rooms · Alt-A: unread · Alt-M: who named you · Alt-K Alt-J: choose a message · PgUp PgDn: scroll · Esc: to the end · Ctrl-C: quit")
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
		m.note("/msg needs a person's name: /msg ann hello")
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
		m.note("there is nothing to leave")
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
		m.note("/whois needs one name")
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
