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

// schemaVersion is stored in the database; an index with another version is rebuilt.
const schemaVersion = 2

// schema creates the tables. The number n of a message is its time in milliseconds times 4096, plus
// a counter for messages of the same millisecond. Ordering by n needs no sort.
const schema = `
CREATE TABLE rooms (n INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, next INTEGER NOT NULL, first INTEGER NOT NULL);
CREATE TABLE segments (room INTEGER NOT NULL, base INTEGER NOT NULL, sign TEXT NOT NULL, PRIMARY KEY (room, base)) WITHOUT ROWID;
CREATE TABLE messages (n INTEGER PRIMARY KEY, room INTEGER NOT NULL, place INTEGER NOT NULL, nick TEXT NOT NULL, account TEXT NOT NULL, UNIQUE (room, place));
` + createTexts + `
INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);
`

const createTexts = "CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');"

// Index is the search index of one data directory. It is safe for concurrent use.
type Index struct {
	dir, file string

	// Pause returns how long to pause after a batch that took the given time, which leaves CPU time
	// to other work. Nil means no pause. It must not change once the Index is in use.
	Pause func(took time.Duration) time.Duration

	dbMu   sync.RWMutex // guards db and dbFile; held for writing to reopen the database
	db     *sql.DB
	dbFile os.FileInfo // the file that db has open

	// A semaphore of capacity 1 that the updating goroutine holds; never closed. It is acquired
	// before dbMu. The holder owns indexed.
	updateSlot chan struct{}
	indexed    map[string]indexedRoom
}

// indexedRoom is the state of a room after this Index last indexed it.
type indexedRoom struct {
	folderModTime time.Time // modification time of the folder; redaction and retention change it
	nextOffset    int64     // offset of the first line that is not indexed
}

// Open opens the index of a data directory. It creates a new one if there is none or if it is
// unusable.
func Open(ctx context.Context, dir string) (*Index, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	x := &Index{dir: dir, file: filepath.Join(dir, "index", "search.db"), updateSlot: make(chan struct{}, 1)}
	return x, x.open(ctx)
}

// open connects to the database file, and creates a new one if the file is unusable.
func (x *Index) open(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(x.file), 0o700); err != nil {
		return err
	}
	db, err := openDatabase(ctx, x.file)
	if unusable(err) {
		if err := x.removeFiles(); err != nil {
			return err
		}
		db, err = openDatabase(ctx, x.file)
	}
	if err != nil {
		return fmt.Errorf("search: %s: %w", x.file, err)
	}
	x.db, x.indexed = db, map[string]indexedRoom{}
	x.dbFile, err = os.Stat(x.file)
	return err
}

// reopen opens the index again if its file was deleted or cause says that it is unusable.
func (x *Index) reopen(ctx context.Context, cause error) error {
	info, err := os.Stat(x.file)
	if err == nil && os.SameFile(info, x.dbFile) && !unusable(cause) {
		return nil
	}
	x.dbMu.Lock()
	defer x.dbMu.Unlock()
	_ = x.db.Close()
	if unusable(cause) {
		if err := x.removeFiles(); err != nil {
			return err
		}
	}
	return x.open(ctx)
}

func (x *Index) removeFiles() error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(x.file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

var errVersion = errors.New("the file is not an index of this version")

// unusable reports whether err means that the index must be rebuilt.
func unusable(err error) bool {
	const corrupt, notADatabase = 11, 26 // https://sqlite.org/rescode.html
	var e *sqlite.Error
	return errors.Is(err, errVersion) || errors.As(err, &e) && (e.Code()&0xff == corrupt || e.Code()&0xff == notADatabase)
}

// openDatabase opens the database and creates its tables if it is empty.
func openDatabase(ctx context.Context, file string) (*sql.DB, error) {
	// SQLite would create the file readable by all users.
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
	if err = createSchema(ctx, db); err != nil {
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

// createSchema creates the tables, unless they exist.
func createSchema(ctx context.Context, db *sql.DB) error {
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
	case has == schemaVersion:
		return nil
	case has != 0 || objects > 0:
		return errVersion
	}
	if _, err := tx.Exec(schema + fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

// Close closes the database. Run must have returned.
func (x *Index) Close() error { return x.db.Close() }

// Run updates the index at once and then at the given interval until ctx ends. It calls report for
// each error and tries again at the next interval.
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
