package log

import "bytes"

// redacted returns a line of the same length, time and msgid without text and tags. Source,
// account, command and target remain. If the line is too short for the tag weir/redacted, they are
// dropped in this order: account, user and host, source. ok is false if the line is too short even
// then, which a line of Append never is.
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
		if gap < 0 || len(form.source) < len(":n") { // a source may lack the nick: ":!user"
			continue
		}
		out = append(append(make(Line, 0, len(l)), l[:at]...), form.account+tagged...)
		if gap > 0 {
			out = append(append(out, '='), bytes.Repeat([]byte("x"), gap-1)...)
		}
		out = append(append(append(out, ' '), form.source...), rest...)
		writeSum(out)
		return out, true
	}
	return nil, false
}

// skeleton returns the command and its first parameter, with an empty text if the line had one.
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
