package core

import (
	"strings"

	"weir/chat/irc"
)

// act lets a person do something.
func (p *person) act() {
	l := p.link
	switch {
	case l == nil:
		p.connect()
	case l.hungUp || l.quitting: // who quits reads all, so that it counts as received
	case p.w.rng.IntN(40) == 0:
		l.hungUp = true
		p.w.trace("%s hangs up", p.id())
	case p.w.rng.IntN(60) == 0:
		p.w.trace("%s quits", p.id())
		l.quitting = true
		l.send("QUIT :bye")
	case !l.online || len(l.commands) > 4:
	default:
		for range 1 + p.w.rng.IntN(2)*p.w.rng.IntN(3) { // sometimes several at once
			if c := p.choose(); c != nil {
				l.run(c)
			}
		}
	}
}

// rejoin leaves a room and joins it again.
func (p *person) rejoin(room string) *command {
	p.link.run(&command{kind: "PART", room: room, text: "PART " + room})
	return p.join(room)
}

// room returns the name of a room, usually one that the person is in.
func (p *person) room() string {
	if names := p.w.sortedRooms(p.link); len(names) > 0 && p.w.rng.IntN(5) > 0 {
		return names[p.w.rng.IntN(len(names))]
	}
	return p.w.someRoom()
}

// choose returns the next command of a person, nil if it has none.
func (p *person) choose() *command {
	room, rng := p.room(), p.w.rng
	switch n := rng.IntN(100); {
	case n < 35:
		token := p.w.token()
		return &command{kind: "PRIVMSG", room: room, token: token, text: "PRIVMSG " + room + " :says " + token}
	case n < 45:
		return p.direct()
	case n < 56:
		return p.join(p.w.someRoom())
	case n < 59:
		return p.rejoin(room)
	case n < 62:
		return &command{kind: "PART", room: room, text: "PART " + room}
	case n < 66:
		token := p.w.token()
		return &command{kind: "TOPIC", room: room, token: token, property: "topic", value: token, text: "TOPIC " + room + " :about " + token}
	case n < 76:
		return p.mode(room)
	case n < 78:
		return &command{kind: "KICK", room: room, text: "KICK " + room + " " + p.other()}
	case n < 82:
		return p.redact()
	case n < 84:
		return &command{kind: "INVITE", text: "INVITE " + p.other() + " " + room}
	case n < 86:
		return &command{kind: "RENAME", room: room, property: "name", text: "RENAME " + room + " " + p.w.someRoom() + []string{"", "x", "y"}[rng.IntN(3)]}
	case n < 90 && p.level >= chathistory:
		return &command{kind: "CHATHISTORY", room: room, text: "CHATHISTORY LATEST " + room + " * 200"}
	case n < 92 && p.account != "":
		return &command{kind: "MARKREAD", room: room, text: "MARKREAD " + room + " timestamp=2100-01-01T00:00:00.000Z"}
	case n < 94:
		return &command{kind: "AWAY", text: []string{"AWAY :lunch", "AWAY"}[rng.IntN(2)]}
	case n < 96:
		return &command{kind: "METADATA", text: "METADATA " + []string{"*", room}[rng.IntN(2)] + " SET url :" + p.w.token()}
	case n < 97 && p.account == worldOperator:
		return &command{kind: "KLINE", text: []string{"KLINE hal!*@* :enough", "UNKLINE hal!*@*", "UNKLINE hal!*@*"}[rng.IntN(3)]}
	case n < 98:
		return &command{kind: "WHO", text: []string{"NAMES " + room, "WHO " + room, "LIST", "WHOIS " + p.other(), "MODE " + room + " b"}[rng.IntN(5)]}
	}
	return nil
}

// join returns a command to join a room.
func (p *person) join(room string) *command {
	c := &command{kind: "JOIN", room: room, text: "JOIN " + room}
	if p.w.rng.IntN(2) == 0 {
		c.key = "key"
		c.text += " key"
	}
	if p.account != "" { // it may become the room's operator
		c.property, c.value = "o "+p.account, "+"
	}
	return c
}

// direct returns a direct message. It is stored between accounts.
func (p *person) direct() *command {
	to, token := p.other(), p.w.token()
	if to == p.name { // it would receive the message besides its echo
		return nil
	}
	c := &command{kind: "DM", token: token, text: "PRIVMSG " + to + " :tells " + token}
	if p.account != "" && p.w.personNamed(to).account != "" {
		c.kind = "PRIVMSG"
	}
	return c
}

// other returns the nick of a person.
func (p *person) other() string { return p.w.persons[p.w.rng.IntN(len(p.w.persons))].name }

// mode returns a change of a room's modes.
func (p *person) mode(room string) *command {
	changes := []string{"+i", "-i", "-i", "+m", "-m", "-m", "+s", "-s", "+t", "-t", "-n", "+n", "+k key", "+k other", "-k key", "-k key", "+l 3", "-l",
		"+b gus!*@*", "+b hal!*@*", "-b gus!*@*", "-b hal!*@*", "+o " + p.other(), "+o " + p.other(), "-o " + p.other(), "+v " + p.other(), "-v " + p.other()}
	change := changes[p.w.rng.IntN(len(changes))]
	parsed, _ := irc.Changes(strings.Fields(change))
	c := &command{kind: "MODE", room: room, text: "MODE " + room + " " + change}
	c.property, c.value = p.w.model.property(parsed[0])
	return c
}

// redact returns the redaction of an own line, or a message if there is none.
func (p *person) redact() *command {
	if len(p.own) == 0 {
		return nil
	}
	line := p.own[p.w.rng.IntN(len(p.own))]
	return &command{kind: "REDACT", text: "REDACT " + line.room + " " + line.msgid + " :because " + p.w.token()}
}
