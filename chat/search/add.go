package search

import (
	"database/sql"
	"errors"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
	"weir/chat/log"
)

// rowsPerInsert is the number of rows that one INSERT adds to messages. An INSERT into texts adds a
// single row: one with several rows opens a savepoint, and FTS5 flushes its memory before each
// savepoint.
const rowsPerInsert = 50

// SQL statements that add messages.
var (
	addMessage  = "INSERT INTO messages (n, room, place, nick, account) VALUES (?, ?, ?, ?, ?)"
	addMessages = addMessage + strings.Repeat(", (?, ?, ?, ?, ?)", rowsPerInsert-1)
	addText     = "INSERT INTO texts (rowid, text) VALUES (?, ?)"
)

// row is a message as it is stored in the index.
type row struct {
	number, offset      int64
	nick, account, text string
}

// adder adds messages of one room to the index within one transaction.
type adder struct {
	*roomState
	tx          *sql.Tx
	statements  map[string]*sql.Stmt // by SQL text; closed with the transaction
	pendingRows []row                // not yet written
	lastNumber  int64                // the largest number assigned in this transaction; 0 if none
}

// addLines indexes up to batchLines lines of a log, starting at s.nextOffset. It reports in more
// whether lines remain.
func (s *roomState) addLines(tx *sql.Tx, l *log.Log) (more bool, err error) {
	a := &adder{roomState: s, tx: tx, statements: map[string]*sql.Stmt{}}
	lines := l.Stream(max(s.nextOffset, l.First()))
	defer lines.Close()
	for i := 0; ; i++ {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return false, a.flush()
		}
		if err != nil {
			return false, err
		}
		if i == batchLines {
			return true, a.flush()
		}
		if err := a.add(l, line); err != nil {
			return false, err
		}
		s.nextOffset = line.Offset() + int64(len(line))
	}
}

// add indexes a line.
func (a *adder) add(l *log.Log, line log.Line) error {
	m, ok := readMessage(line)
	if !ok {
		return nil
	}
	if m.redactedID != "" {
		if err := a.flush(); err != nil { // the redacted message may be among the pending rows
			return err
		}
		return a.applyRedaction(a.tx, l, m.redactedID)
	}
	n, err := a.nextNumber(line.Time())
	if err != nil {
		return err
	}
	a.pendingRows = append(a.pendingRows, row{number: n, offset: line.Offset(), nick: irc.Fold(m.nick), account: irc.Fold(m.account), text: m.text})
	return nil
}

// nextNumber assigns a number to the next message with time t.
func (a *adder) nextNumber(t time.Time) (n int64, err error) {
	// No other writer can assign numbers while this transaction is open.
	if last := a.lastNumber; last >= firstNumberAt(t) && last+1 < firstNumberAt(t)+1<<12 {
		n = last + 1
	} else if n, err = a.firstFreeNumber(t); err != nil {
		return 0, err
	}
	a.lastNumber = n
	return n, nil
}

// firstFreeNumber looks up the number of the first message with time t in this transaction.
func (a *adder) firstFreeNumber(t time.Time) (int64, error) {
	if a.lastNumber >= firstNumberAt(t) { // pending rows may have numbers of this time
		if err := a.flush(); err != nil {
			return 0, err
		}
	}
	largest, err := a.statement("SELECT max(n) FROM messages WHERE n >= ? AND n < ?")
	if err != nil {
		return 0, err
	}
	for first := firstNumberAt(t); ; first += 1 << 12 { // 4096 messages in one millisecond are rare
		next := first + 1<<12
		var last sql.NullInt64
		if err := largest.QueryRow(first, next).Scan(&last); err != nil {
			return 0, err
		}
		if !last.Valid {
			return first, nil
		}
		if last.Int64+1 < next {
			return last.Int64 + 1, nil
		}
	}
}

// statement prepares an SQL text, once per transaction.
func (a *adder) statement(text string) (s *sql.Stmt, err error) {
	if s = a.statements[text]; s == nil {
		s, err = a.tx.Prepare(text)
		a.statements[text] = s
	}
	return s, err
}

// flush writes the pending rows, first all of them to messages, then all of them to texts.
func (a *adder) flush() error {
	var values []any
	for _, r := range a.pendingRows {
		values = append(values, r.number, a.rowID, r.offset, r.nick, r.account)
	}
	const each, many = 5, 5 * rowsPerInsert
	for len(values) > 0 {
		text, n := addMessages, many
		if len(values) < many {
			text, n = addMessage, each
		}
		if err := a.exec(text, values[:n]...); err != nil {
			return err
		}
		values = values[n:]
	}
	for _, r := range a.pendingRows {
		if err := a.exec(addText, r.number, r.text); err != nil {
			return err
		}
	}
	a.pendingRows = a.pendingRows[:0]
	return nil
}

func (a *adder) exec(text string, values ...any) error {
	s, err := a.statement(text)
	if err == nil {
		_, err = s.Exec(values...)
	}
	return err
}

// firstNumberAt returns the lowest number of a message with time t.
func firstNumberAt(t time.Time) int64 { return t.UnixMilli() << 12 }

// message is the searchable part of a log line.
type message struct {
	nick, account, text string
	redactedID          string // id of the message that this line redacts; "" if none
}

// readMessage parses a log line. It returns false for a line without searchable text.
func readMessage(line log.Line) (message, bool) {
	m, err := ircmsg.ParseLine(string(line.Plain()))
	if err != nil || len(m.Params) < 2 {
		return message{}, false
	}
	text := m.Params[1]
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TOPIC":
	case "REDACT":
		return message{redactedID: text}, text != ""
	default:
		return message{}, false
	}
	if line.Redacted() {
		return message{}, false
	}
	text = strings.TrimSpace(strings.Map(replaceControl, strings.ToValidUTF8(strings.TrimPrefix(text, "\x01ACTION"), " ")))
	if text == "" {
		return message{}, false
	}
	nick, _, _ := strings.Cut(m.Source, "!")
	account, _ := line.Tag("account")
	return message{nick: nick, account: account, text: text}, true
}

// replaceControl replaces control characters, among them the highlight marks of a snippet.
func replaceControl(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
