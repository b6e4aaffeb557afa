package tui

import (
	"path/filepath"
	"strings"

	"weir/chat/client"
)

// uploadResult is the result of an upload.
type uploadResult struct {
	file, link string
	err        error
}

// upload starts an upload by requesting a token from the server.
func (m *Model) upload(file string) {
	switch {
	case file == "":
		m.note("/upload needs a file: /upload picture.jpg")
	case m.client.FileHost() == "" || m.options.Upload == nil:
		m.note("this server does not accept files")
	case m.current == nil:
		m.note("you are in no room: /join #room")
	case m.uploadFile != "":
		m.note(m.uploadFile + " is still being sent")
	default:
		if rest, ok := strings.CutPrefix(file, "~/"); ok && m.options.Home != "" {
			file = filepath.Join(m.options.Home, rest)
		}
		m.uploadFile, m.uploadTarget = file, m.current
		m.note("sending " + filepath.Base(file) + " …")
		m.client.RequestUploadToken()
	}
}

// sendFile uploads the waiting file with a token.
func (m *Model) sendFile(sendFile string) {
	if m.uploadFile != "" {
		m.options.Upload(m.client.FileHost(), sendFile, m.uploadFile)
	}
}

// finishUpload processes the result of an upload. The link is inserted in the input line, so that
// the user decides whether to send it.
func (m *Model) finishUpload(u uploadResult) {
	v := m.uploadTarget
	m.uploadFile, m.uploadTarget, m.notes = "", nil, nil
	switch {
	case u.err != nil:
		m.note(filepath.Base(u.file) + " was not sent: " + u.err.Error())
	case v != m.current || m.passwordInput != nil:
		m.note(filepath.Base(u.file) + " is at " + u.link)
	default:
		m.input.insert(u.link + " ")
	}
}

// cancelUpload discards the waiting file if the server refused a token.
func (m *Model) cancelUpload(e client.Event) {
	if e.Command == "FILEHOST" {
		m.uploadFile, m.uploadTarget = "", nil
	}
}
