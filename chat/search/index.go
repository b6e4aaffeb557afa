package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite" // and the driver of this name
)

// version is that of the tables; an index of another one is made anew.
const version = 2

// A message's number n is its time in milliseconds times 4096, and more for others of that time:
// what is newest comes first without being sorted, however many there are.
const tables = `
CREATE TABLE rooms (n INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, next INTEGER NOT NULL, first INTEGER NOT NULL);
CREATE TABLE segments (room INTEGER NOT NULL, base INTEGER NOT NULL, sign TEXT NOT NULL, PRIMARY KEY (room, base)) WITHOUT ROWID;
CREATE TABLE messages (n INTEGER PRIMARY KEY, room INTEGER NOT NULL, place INTEGER NOT NULL, nick TEXT NOT NULL, account TEXT NOT NULL, UNIQUE (room, place));
` + textsTable + `
INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);
`

const textsTable = "CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');"

// Index is the index of one data directory. Any number of goroutines may use it.
type Index struct {
	dir, file string

	// Rest says how long to rest after a batch that took so long, so that others have the processor
	// too. Nil: not at all. It is not changed once anybody uses the Index.
	Rest func(took time.Duration) time.Duration

	life sync.RWMutex // held to replace what follows
	db   *sql.DB
	info os.FileInfo // of the file that db has open

	// full while somebody updates, who owns seen; taken before life. Capacity 1, never closed
	updating chan struct{}
	seen     map[string]look
}

// look is how a room was when this Index last was through with it.
type look struct {
	folder time.Time // when a name in it last changed, as a redaction or retention does
	next   int64
}

// Open opens the index of a data directory, and begins a new one if there is none or it can't be
// used.
func Open(ctx context.Context, dir string) (*Index, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	x := &Index{dir: dir, file: filepath.Join(dir, "index", "search.db"), updating: make(chan struct{}, 1)}
	return x, x.open(ctx)
}

// open connects to the file, and begins anew if that can't be used.
func (x *Index) open(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(x.file), 0o700); err != nil {
		return err
	}
	db, err := connect(ctx, x.file)
	if unusable(err) {
		if err := x.remove(); err != nil {
			return err
		}
		db, err = connect(ctx, x.file)
	}
	if err != nil {
		return fmt.Errorf("search: %s: %w", x.file, err)
	}
	x.db, x.seen = db, map[string]look{}
	x.info, err = os.Stat(x.file)
	return err
}

// again opens the index again if its file was deleted or damaged.
func (x *Index) again(ctx context.Context, because error) error {
	info, err := os.Stat(x.file)
	if err == nil && os.SameFile(info, x.info) && !unusable(because) {
		return nil
	}
	x.life.Lock()
	defer x.life.Unlock()
	_ = x.db.Close()
	if unusable(because) {
		if err := x.remove(); err != nil {
			return err
		}
	}
	return x.open(ctx)
}

func (x *Index) remove() error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(x.file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

var errVersion = errors.New("it is no index of this version")

// unusable says whether an error means that an index has to be made anew.
func unusable(err error) bool {
	const corrupt, notADatabase = 11, 26 // https://sqlite.org/rescode.html
	var e *sqlite.Error
	return errors.Is(err, errVersion) || errors.As(err, &e) && (e.Code()&0xff == corrupt || e.Code()&0xff == notADatabase)
}

// connect opens the database, and makes its tables if it is empty.
func connect(ctx context.Context, file string) (*sql.DB, error) {
	// SQLite's own mode is for everybody to read
	if f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	settings := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(ON)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: absolute(file), RawQuery: settings.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	if err = prepare(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// prepare makes the tables.
func prepare(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var has, objects int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&has); err != nil {
		return err
	}
	if err := tx.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&objects); err != nil {
		return err
	}
	switch {
	case has == version:
		return nil
	case has != 0 || objects > 0:
		return errVersion
	}
	if _, err := tx.Exec(tables + fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return err
	}
	return tx.Commit()
}

// Close gives back the database. Run has to have returned.
func (x *Index) Close() error { return x.db.Close() }

// Run updates the index at once and then every so often until ctx ends. report is told of errors;
// the next round tries again.
func (x *Index) Run(ctx context.Context, every time.Duration, report func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := x.Update(ctx); err != nil && ctx.Err() == nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
