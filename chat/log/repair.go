package log

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"weir/internal/disk"
)

// Repaired is the result of Repair for one segment.
type Repaired struct {
	Segment int64  `json:"segment"` // base of the segment
	Kept    string `json:"kept"`    // file with the former bytes
	// bytes that belong to no valid line, or to a duplicate
	Lost int64   `json:"lost"`
	Now  []int64 `json:"now"` // bases of the segments that now have its valid lines
}

// Repair restores the room and removes invalid bytes from its segments. Each run of valid lines
// becomes a segment at the offset that the lines state. The former segment is kept as *.damaged,
// which is never read. Lines keep their offsets. Other processes may have the room open.
func (l *Log) Repair() ([]Repaired, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.writable(); err != nil {
		return nil, err
	}
	var done []Repaired
	err := l.withLocks(func() error {
		if err := l.restoreLocked(); err != nil {
			return err
		}
		if err := l.commitAllLocked(); err != nil {
			return err
		}
		var err error
		if done, err = l.repairSegments(); err != nil || len(done) == 0 {
			return err
		}
		return l.recoverLocked()
	})
	return done, err
}

func (l *Log) repairSegments() (done []Repaired, err error) {
	bases, err := l.relist()
	if err != nil {
		return nil, err
	}
	end := int64(0) // end of the valid lines found so far
	for i, base := range bases {
		data, err := disk.ReadFile(l.disk, l.segmentPath(base))
		if err != nil {
			return done, fmt.Errorf("chat/log: %w", err)
		}
		limit := int64(maxOffset)
		if i+1 < len(bases) {
			limit = bases[i+1]
		}
		runs, whole := validRuns(data, end, limit)
		if n := len(runs); n > 0 {
			end = runs[n-1].base + int64(len(runs[n-1].data))
		}
		if whole == len(data) && (len(runs) == 0 || len(runs) == 1 && runs[0].base == base) {
			continue
		}
		r := Repaired{Segment: base, Lost: int64(len(data) - whole)}
		if err := l.replaceByRunsLocked(base, runs, &r); err != nil {
			return done, l.diskError("repair a segment", err)
		}
		done = append(done, r)
	}
	return done, nil
}

// run is a sequence of consecutive valid lines: the content of a segment.
type run struct {
	base int64
	data []byte
}

// validRuns finds the valid lines in a segment's bytes, at any position, that are in order and
// between two offsets. valid counts their bytes.
func validRuns(data []byte, from, to int64) (runs []run, whole int) {
	for len(data) > 0 {
		n := lineLength(data)
		if n == 0 {
			break
		}
		line, ok := parseLine(data[:n])
		data = data[n:]
		if !ok || line.Offset() < from || line.Offset()+int64(n) > to {
			continue
		}
		if k := len(runs) - 1; k >= 0 && line.Offset() == from {
			runs[k].data = append(runs[k].data, line...)
		} else {
			runs = append(runs, run{line.Offset(), slices.Clone(line)})
		}
		from = line.Offset() + int64(n)
		whole += n
	}
	return runs, whole
}

// replaceByRunsLocked copies a segment to *.damaged and replaces it by runs, the last one first. A
// segment ends where the next one starts, so at no moment a line is missing or duplicate. The
// caller holds both locks.
func (l *Log) replaceByRunsLocked(base int64, runs []run, r *Repaired) error {
	name := l.segmentPath(base)
	var err error
	if r.Kept, err = l.keepDamaged(name); err != nil {
		return err
	}
	if err := l.finish(base); err != nil {
		return err
	}
	replaced := false
	for _, x := range slices.Backward(runs) {
		target := l.segmentPath(x.base)
		err := l.writeTemp(target+".tmp", func(f disk.File) error {
			_, err := f.WriteAt(x.data, 0)
			return err
		})
		if err == nil {
			err = l.install(target+".tmp", target, finishedMode)
		}
		if err != nil {
			return err
		}
		r.Now = append(r.Now, x.base)
		replaced = replaced || x.base == base
	}
	slices.Reverse(r.Now)
	if replaced {
		return nil
	}
	if err := l.disk.Remove(name); err != nil {
		return err
	}
	return l.files().SyncDir(l.dir)
}

// keepDamaged copies a segment to an unused name.
func (l *Log) keepDamaged(name string) (string, error) {
	for n := 1; ; n++ {
		kept := name + ".damaged"
		if n > 1 {
			kept = fmt.Sprintf("%s.%d.damaged", name, n)
		}
		if _, err := l.disk.Stat(kept); err == nil {
			continue
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		return kept, l.writeTemp(kept, func(f disk.File) error { return l.copyTo(f, name) })
	}
}
