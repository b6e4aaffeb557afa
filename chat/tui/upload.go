package tui

import (
	"path/filepath"
	"strings"

	"weir/chat/client"
)

// uploaded says what became of a file that was sent.
type uploaded struct {
	file, link string
	err        error
}

// upload begins to send a file: the server is asked whether it may be.
func (m *Model) upload(file string) {
	switch {
	case file == "":
		m.note("/upload needs a file: /upload picture.jpg")
	case m.client.FileHost() == "" || m.o.Upload == nil:
		m.note("this server takes no files")
	case m.current == nil:
		m.note("you are in no room: /join #room")
	case m.sending != "":
		m.note(m.sending + " is still being sent")
	default:
		if rest, ok := strings.CutPrefix(file, "~/"); ok && m.o.Home != "" {
			file = filepath.Join(m.o.Home, rest)
		}
		m.sending, m.sendingTo = file, m.current
		m.note("sending " + filepath.Base(file) + " …")
		m.client.RequestUploadToken()
	}
}

// token has the file sent that waits for one.
func (m *Model) token(token string) {
	if m.sending != "" {
		m.o.Upload(m.client.FileHost(), token, m.sending)
	}
}

// sent takes what became of a file: its link is put where one writes, so that nothing is said
// before its user says it.
func (m *Model) sent(u uploaded) {
	v := m.sendingTo
	m.sending, m.sendingTo, m.notes = "", nil, nil
	switch {
	case u.err != nil:
		m.note(filepath.Base(u.file) + " was not sent: " + u.err.Error())
	case v != m.current || m.secret != nil:
		m.note(filepath.Base(u.file) + " is at " + u.link)
	default:
		m.input.insert(u.link + " ")
	}
}

// refusedFile forgets the file that waits, when there is no token for it.
func (m *Model) refusedFile(e client.Event) {
	if e.Command == "FILEHOST" {
		m.sending, m.sendingTo = "", nil
	}
}
