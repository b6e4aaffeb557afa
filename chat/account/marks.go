package account

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/chat/irc"
	"weir/internal/disk"
)

// MaxDevices limits the devices of an account that have read markers. Beyond it, the markers of the
// device that was not seen for longest are removed.
const MaxDevices = 32

// SharedDevice is the device name of the read marker that all clients of an account share
// (MARKREAD, https://ircv3.net/specs/extensions/read-marker). No client can choose this name.
const SharedDevice = "*"

// maxRoomID is the length limit of a room id, in bytes.
const maxRoomID = 200

// noDevice is written in the file for the device without a name.
const noDevice = "-"

// markerKey identifies one read marker: how far a device has read a room.
type markerKey struct{ device, room string }

// markerStore holds the read markers of the accounts that were used so far. An account's file has a
// line ROOM DEVICE OFFSET seen=TIME for each marker.
type markerStore struct {
	store *Store

	writing sync.Mutex // serializes writing; taken before mu

	mu       sync.Mutex // guards the fields below
	accounts map[string]*accountMarkers
	timer    *time.Timer // runs flush; nil: nothing is dirty
	closed   bool
}

type accountMarkers struct {
	offsets map[markerKey]int64
	dirty   map[markerKey]bool
	// offsets that SaveReadMarker has stored: only these survive a loss of power
	saved map[markerKey]int64
}

func newMarks(s *Store) *markerStore {
	return &markerStore{store: s, accounts: map[string]*accountMarkers{}}
}

// ReadMarker returns the offset up to which a device (folded, "" for none, or ReadMarker) has read
// a room. ok is false if it has no marker. room is the room's id, which does not change with its
// name. The first call for an account reads a file.
func (s *Store) ReadMarker(account, device, room string) (offset int64, ok bool) {
	m := s.marks
	m.mu.Lock()
	defer m.mu.Unlock()
	offset, ok = m.loadLocked(account).offsets[markerKey{device, room}]
	return offset, ok
}

// SetReadMarker moves a read marker forward, never back. It is fast, except for the first call for
// an account, which reads a file. The marker is written within Options.MarkerInterval, or by Close.
// A crash may lose it, and messages are then replayed twice. Invalid room ids, invalid devices and
// negative offsets are ignored.
func (s *Store) SetReadMarker(account, device, room string, offset int64) {
	if offset < 0 || !isValidRoomID(room) || device != SharedDevice && CheckDevice(device) != nil {
		return
	}
	m := s.marks
	m.mu.Lock()
	defer m.mu.Unlock()
	a, p := m.loadLocked(account), markerKey{device, room}
	if old, ok := a.offsets[p]; ok && old >= offset || m.closed {
		return
	}
	a.offsets[p], a.dirty[p] = offset, true
	if m.timer == nil {
		m.timer = time.AfterFunc(s.opts.MarkerInterval, m.flushInBackground)
	}
}

// SaveReadMarker is SetReadMarker for a marker that is then reported to clients: it is on disk when
// SaveReadMarker returns. After an error it is unchanged. It waits for other processes and for the
// disk, unless the marker is already stored.
func (s *Store) SaveReadMarker(account, device, room string, offset int64) error {
	if offset < 0 || !isValidRoomID(room) || device != SharedDevice && CheckDevice(device) != nil {
		return nil
	}
	m, name, p := s.marks, irc.Fold(account), markerKey{device, room}
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	a := m.loadLocked(account)
	saved, ok := a.saved[p]
	there := ok && saved >= offset
	offset = max(offset, a.offsets[p])
	m.mu.Unlock()
	if there {
		return nil
	}
	held, err := m.lock()
	if err != nil {
		return err
	}
	defer held.Close()
	if err := m.writeOne(name, map[markerKey]int64{p: offset}, true); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a.saved[p] = offset
	if a.offsets[p] <= offset {
		a.offsets[p] = offset
		delete(a.dirty, p)
	}
	return nil
}

// isValidRoomID reports whether a room id can be a word of the file.
func isValidRoomID(room string) bool {
	return room != "" && len(room) <= maxRoomID && room[0] != '#' && !strings.ContainsFunc(room, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// loadLocked returns the markers of an account. It reads their file at the first call, and reports
// and ignores lines that cannot be read. The caller holds mu.
func (m *markerStore) loadLocked(account string) *accountMarkers {
	name := irc.Fold(account)
	if a := m.accounts[name]; a != nil {
		return a
	}
	a := &accountMarkers{offsets: map[markerKey]int64{}, dirty: map[markerKey]bool{}, saved: map[markerKey]int64{}}
	m.accounts[name] = a
	data, err := disk.ReadFile(m.store.opts.Disk, m.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.store.opts.Report(fmt.Errorf("account: read markers of %s: %w", account, err))
	}
	for _, r := range parseTable(data).lines {
		if p, offset, err := parseMark(r); err == nil {
			a.offsets[p] = max(a.offsets[p], offset)
		} else if err != errNoMark {
			m.store.opts.Report(fmt.Errorf("%s:%d: %w: messages since this read marker are replayed again", m.path(name), r.number, err))
		}
	}
	return a
}

func (m *markerStore) path(name string) string { return m.store.path("marks/" + fileName(name)) }

// errNoMark is the result of parseMark for comments and empty lines.
var errNoMark = errors.New("no mark")

func parseMark(r *record) (p markerKey, offset int64, err error) {
	if r.err != nil {
		return p, 0, r.err
	}
	if r.fields == nil {
		return p, 0, errNoMark
	}
	p = markerKey{device: r.word(1), room: r.word(0)}
	offset, err = strconv.ParseInt(r.word(2), 10, 64)
	if err != nil || offset < 0 || p.device == "" {
		return p, 0, errors.New("want ROOM DEVICE OFFSET")
	}
	if p.device == noDevice {
		p.device = ""
	}
	return p, offset, nil
}

func (p markerKey) words(offset int64) []string {
	device := p.device
	if device == "" {
		device = noDevice
	}
	return []string{p.room, device, strconv.FormatInt(offset, 10)}
}

// flushInBackground runs on the timer. After an error it is scheduled again.
func (m *markerStore) flushInBackground() {
	err := m.flush()
	if err != nil {
		m.store.opts.Report(fmt.Errorf("account: write read markers: %w", err))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && m.timer == nil && !m.closed {
		m.timer = time.AfterFunc(m.store.opts.MarkerInterval, m.flushInBackground)
	}
}

// flush writes the dirty markers.
func (m *markerStore) flush() error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	m.timer = nil
	dirty := map[string]map[markerKey]int64{}
	for name, a := range m.accounts {
		for p := range a.dirty {
			if dirty[name] == nil {
				dirty[name] = map[markerKey]int64{}
			}
			dirty[name][p] = a.offsets[p]
		}
	}
	m.mu.Unlock()
	if len(dirty) == 0 {
		return nil
	}
	held, err := m.lock()
	if err != nil {
		return err
	}
	defer held.Close()
	for name, places := range dirty {
		err = errors.Join(err, m.writeOne(name, places, false))
	}
	return err
}

// restore removes the temporary files of a killed process, and syncs the names that it may not have
// synced.
func (m *markerStore) restore() error {
	folder := m.store.path("marks")
	if info, err := m.store.opts.Disk.Stat(folder); err != nil || !info.IsDir() {
		return nil // there are no markers, or they cannot be written, which the writer reports
	}
	held, err := m.lock()
	if err != nil {
		return err
	}
	defer held.Close()
	return errors.Join(m.store.opts.files().RemoveTemps(folder), m.store.opts.files().SyncDir(folder))
}

// clearDirty clears the dirty state of markers that are on file, unless they have moved since.
func (m *markerStore) clearDirty(name string, places map[markerKey]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.accounts[name]
	if a == nil {
		return
	}
	for p, offset := range places {
		if a.offsets[p] == offset {
			delete(a.dirty, p)
		}
	}
}

func (m *markerStore) lock() (disk.File, error) {
	folder := m.store.path("marks")
	held, err := m.store.opts.lock(folder + "/.lock")
	if errors.Is(err, fs.ErrNotExist) { // the first marker of this data directory
		if err := m.store.opts.files().MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		return m.store.opts.lock(folder + "/.lock")
	}
	return held, err
}

// writeOne merges markers into an account's file, because other processes may have moved other
// markers. Markers of an account that was removed meanwhile are dropped. save makes them durable.
// Otherwise a loss of power may lose them, and all in a file that has no saved ones.
func (m *markerStore) writeOne(name string, places map[markerKey]int64, save bool) error {
	if m.store.Lookup(name) == nil {
		m.clearDirty(name, places)
		return nil
	}
	data, err := disk.ReadFile(m.store.opts.Disk, m.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	t := parseTable(data)
	t.merge(places, formatTime(m.store.opts.Now()))
	m.dropDevices(name, t)
	files := m.store.opts.files()
	files.Revertible, files.Unsynced = !save, !save && !t.hasSaved()
	if err := files.ReplaceFile(m.path(name), t.bytes(), 0o600); err != nil {
		return err
	}
	m.clearDirty(name, places)
	return nil
}

// hasSaved reports whether the table has a marker of SaveReadMarker.
func (t *table) hasSaved() bool {
	return slices.ContainsFunc(t.lines, func(r *record) bool {
		p, _, err := parseMark(r)
		return err == nil && p.device == SharedDevice
	})
}

// merge moves the markers of a table forward to the given offsets.
func (t *table) merge(places map[markerKey]int64, seen string) {
	found := map[markerKey]bool{}
	for _, r := range t.lines {
		p, old, err := parseMark(r)
		offset, ours := places[p]
		if err != nil || !ours {
			continue
		}
		found[p] = true
		r.setWord(2, strconv.FormatInt(max(old, offset), 10))
		r.set("seen", seen)
	}
	for p, offset := range places {
		if !found[p] {
			t.add(p.words(offset)...).set("seen", seen)
		}
	}
}

// dropDevices removes the markers of devices beyond MaxDevices, those not seen for longest.
func (m *markerStore) dropDevices(name string, t *table) {
	seen := map[string]string{}
	for _, r := range t.lines {
		if p, _, err := parseMark(r); err == nil && p.device != SharedDevice {
			seen[p.device] = max(seen[p.device], r.get("seen"))
		}
	}
	if len(seen) <= MaxDevices {
		return
	}
	devices := make([]string, 0, len(seen))
	for d := range seen {
		devices = append(devices, d)
	}
	slices.SortFunc(devices, func(a, b string) int { return strings.Compare(seen[a]+" "+a, seen[b]+" "+b) })
	gone := devices[:len(devices)-MaxDevices]
	t.keep(func(r *record) bool {
		p, _, err := parseMark(r)
		return err != nil || !slices.Contains(gone, p.device)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.accounts[name]; a != nil {
		for p := range a.offsets {
			if slices.Contains(gone, p.device) {
				delete(a.offsets, p)
				delete(a.dirty, p)
			}
		}
	}
}

// remove removes the read markers of an account.
func (m *markerStore) remove(account string) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	delete(m.accounts, irc.Fold(account))
	m.mu.Unlock()
	held, err := m.lock()
	if err != nil {
		return err
	}
	defer held.Close()
	return m.store.opts.files().Remove(m.path(account))
}

// close writes the dirty markers and waits for a running flush.
func (m *markerStore) close() error {
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	return m.flush()
}
