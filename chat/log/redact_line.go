package log

import "bytes"

// redacted returns a line of the same length, time and msgid with its text and its tags gone. What
// is left is who, which command and where; of that, account, user and host, and the source go too
// when a line is so short that the mark would not fit. ok is false if even that is too long, which
// no line made by Append is.
func redacted(l Line) (out Line, ok bool) {
	_, at := l.offset()
	account, _ := l.Tag("account")
	source, rest, _ := bytes.Cut(l.Plain(), []byte(" "))
	rest = skeleton(rest)
	nick, _, _ := bytes.Cut(source, []byte("!"))
	tagged := ";" + tagRedacted
	if account != "" {
		account = ";account=" + account
	}
	for _, form := range []struct {
		account string
		source  []byte
	}{{account, source}, {"", source}, {"", nick}, {"", []byte(":*")}} {
		gap := len(l) - at - len(tagged) - len(form.account) - len(" ") - len(form.source) - len(rest)
		if gap < 0 || len(form.source) < len(":n") { // a source may begin with its user: ":!user"
			continue
		}
		out = append(append(make(Line, 0, len(l)), l[:at]...), form.account+tagged...)
		if gap > 0 {
			out = append(append(out, '='), bytes.Repeat([]byte("x"), gap-1)...)
		}
		out = append(append(append(out, ' '), form.source...), rest...)
		seal(out)
		return out, true
	}
	return nil, false
}

// skeleton keeps the command and its first parameter, and that there was a text, of what follows a
// source.
func skeleton(rest []byte) []byte {
	rest = bytes.TrimSuffix(rest, []byte("\r\n"))
	head, _, text := bytes.Cut(rest, []byte(" :"))
	words := bytes.SplitN(head, []byte(" "), 3)
	out := append([]byte(" "), bytes.Join(words[:min(2, len(words))], []byte(" "))...)
	if text {
		out = append(out, " :"...)
	}
	return append(out, '\r', '\n')
}
