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

// rowsAtOnce is how many rows one statement takes into messages. One into texts takes a single row:
// a statement of several has a savepoint, before which FTS5 writes out all that it holds in memory.
const rowsAtOnce = 50

// The statements that take messages in.
var (
	addMessage  = "INSERT INTO messages (n, room, place, nick, account) VALUES (?, ?, ?, ?, ?)"
	addMessages = addMessage + strings.Repeat(", (?, ?, ?, ?, ?)", rowsAtOnce-1)
	addText     = "INSERT INTO texts (rowid, text) VALUES (?, ?)"
)

// row is a message as it goes into the index.
type row struct {
	n, place            int64
	nick, account, text string
}

// adder takes messages of a room in, within a transaction.
type adder struct {
	*state
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // by their text; closed with the transaction
	rows     []row                // that are not written yet
	last     int64                // the largest number that was given; 0: none
}

// addLines indexes up to step lines of a log from s.next on. More means that there are further
// ones.
func (s *state) addLines(tx *sql.Tx, l *log.Log) (more bool, err error) {
	a := &adder{state: s, tx: tx, prepared: map[string]*sql.Stmt{}}
	lines := l.Stream(max(s.next, l.First()))
	defer lines.Close()
	for i := 0; ; i++ {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return false, a.flush()
		}
		if err != nil {
			return false, err
		}
		if i == step {
			return true, a.flush()
		}
		if err := a.add(l, line); err != nil {
			return false, err
		}
		s.next = line.Offset() + int64(len(line))
	}
}

// add indexes a line.
func (a *adder) add(l *log.Log, line log.Line) error {
	m, ok := readMessage(line)
	if !ok {
		return nil
	}
	if m.redacts != "" {
		if err := a.flush(); err != nil { // it may be among these
			return err
		}
		return a.redacted(a.tx, l, m.redacts)
	}
	n, err := a.number(line.Time())
	if err != nil {
		return err
	}
	a.rows = append(a.rows, row{n: n, place: line.Offset(), nick: irc.Fold(m.nick), account: irc.Fold(m.account), text: m.text})
	return nil
}

// number is a number for one more message of a time.
func (a *adder) number(t time.Time) (n int64, err error) {
	// nobody else writes meanwhile
	if last := a.last; last >= firstAt(t) && last+1 < firstAt(t)+1<<12 {
		n = last + 1
	} else if n, err = a.numberAt(t); err != nil {
		return 0, err
	}
	a.last = n
	return n, nil
}

// numberAt is number for the first message of a time in this transaction.
func (a *adder) numberAt(t time.Time) (int64, error) {
	if a.last >= firstAt(t) { // what is not written yet may have numbers of this time
		if err := a.flush(); err != nil {
			return 0, err
		}
	}
	max, err := a.statement("SELECT max(n) FROM messages WHERE n >= ? AND n < ?")
	if err != nil {
		return 0, err
	}
	for first := firstAt(t); ; first += 1 << 12 { // all numbers of a time are hardly ever taken
		next := first + 1<<12
		var last sql.NullInt64
		if err := max.QueryRow(first, next).Scan(&last); err != nil {
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

// statement prepares a text once.
func (a *adder) statement(text string) (s *sql.Stmt, err error) {
	if s = a.prepared[text]; s == nil {
		s, err = a.tx.Prepare(text)
		a.prepared[text] = s
	}
	return s, err
}

// flush writes the rows, first all into messages and then all into texts.
func (a *adder) flush() error {
	var values []any
	for _, r := range a.rows {
		values = append(values, r.n, a.n, r.place, r.nick, r.account)
	}
	const each, many = 5, 5 * rowsAtOnce
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
	for _, r := range a.rows {
		if err := a.exec(addText, r.n, r.text); err != nil {
			return err
		}
	}
	a.rows = a.rows[:0]
	return nil
}

func (a *adder) exec(text string, values ...any) error {
	s, err := a.statement(text)
	if err == nil {
		_, err = s.Exec(values...)
	}
	return err
}

// firstAt is the first number of messages of a time.
func firstAt(t time.Time) int64 { return t.UnixMilli() << 12 }

// message is what of a line can be searched.
type message struct {
	nick, account, text string
	redacts             string // the id of another one, which this line redacts; "" none
}

// readMessage reads a line of a log. It is false for one in which there is nothing to be found.
func readMessage(line log.Line) (message, bool) {
	m, err := ircmsg.ParseLine(string(line.Plain()))
	if err != nil || len(m.Params) < 2 {
		return message{}, false
	}
	text := m.Params[1]
	switch m.Command {
	case "PRIVMSG", "NOTICE", "TOPIC":
	case "REDACT":
		return message{redacts: text}, text != ""
	default:
		return message{}, false
	}
	if line.Redacted() {
		return message{}, false
	}
	text = strings.TrimSpace(strings.Map(visible, strings.ToValidUTF8(strings.TrimPrefix(text, "\x01ACTION"), " ")))
	if text == "" {
		return message{}, false
	}
	nick, _, _ := strings.Cut(m.Source, "!")
	account, _ := line.Tag("account")
	return message{nick: nick, account: account, text: text}, true
}

// visible takes out controls, among them the marks of a snippet.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
