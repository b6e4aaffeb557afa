package log

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Report is the result of Inspect.
type Report struct {
	ID        string `json:"id"`
	Segments  int    `json:"segments"`
	Lines     int64  `json:"lines"`
	Redacted  int64  `json:"redacted"`  // redacted lines
	Bytes     int64  `json:"bytes"`     // size of all segments, without padding
	First     int64  `json:"first"`     // offset of the oldest segment
	Committed int64  `json:"committed"` // offset at which reading ends
	// bytes behind Committed: a batch being written, or a torn tail that the next writer cuts
	Behind int64     `json:"behind"`
	Oldest time.Time `json:"oldest"` // zero if there are no lines
	Newest time.Time `json:"newest"`
	Faults []Fault   `json:"faults"`
}

// Fault is one defect of a room's files.
type Fault struct {
	Offset  int64  `json:"offset"`
	Length  int64  `json:"length"` // in bytes; 0 if the fault is a point
	What    string `json:"what"`
	Repairs bool   `json:"repairs"` // Repair corrects it
}

// Inspect reads a whole room and changes nothing. It may run while servers use the room.
func Inspect(dir string) (*Report, error) {
	l, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return l.inspect()
}

func (l *Log) inspect() (*Report, error) {
	var p *Report
	err := l.withSegments(func(bases []int64) (err error) {
		p, err = l.report(bases)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, p.readLines(l)
}

// report returns the report without what reading the lines tells.
func (l *Log) report(bases []int64) (*Report, error) {
	if len(bases) == 0 {
		return nil, l.noSegments()
	}
	p := &Report{ID: l.id, Segments: len(bases), First: bases[0], Committed: l.Committed()}
	all, err := l.extents(bases)
	if err != nil {
		return nil, err
	}
	p.Bytes = sizeBetween(all, 0, maxOffset)
	if end := all[len(all)-1].end; end > p.Committed {
		p.Behind = sizeBetween(all, p.Committed, maxOffset)
	} else if end < p.Committed {
		p.addFault(end, p.Committed-end, "acknowledged messages are missing: the file was cut", false)
	}
	return p, p.checkOverlaps(l, all)
}

func (p *Report) addFault(offset, length int64, what string, repairs bool) {
	if n := len(p.Faults); n > 0 {
		last := &p.Faults[n-1]
		if last.What == what && length > 0 && last.Offset+last.Length == offset {
			last.Length += length
			return
		}
	}
	p.Faults = append(p.Faults, Fault{offset, length, what, repairs})
}

// checkOverlaps adds a fault for each segment that extends beyond the start of its successor.
func (p *Report) checkOverlaps(l *Log, all []extent) error {
	for i, x := range all[:len(all)-1] {
		size, err := dataSize(l.disk, l.segmentPath(x.base))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed by Retain meanwhile
		}
		if err != nil {
			return fmt.Errorf("chat/log: %w", err)
		}
		if over := x.base + size - all[i+1].base; over > 0 {
			p.addFault(all[i+1].base, over, fmt.Sprintf("the segment %d overlaps its successor", x.base), true)
		}
	}
	return nil
}

// readLines reads all lines and adds the faults.
func (p *Report) readLines(l *Log) error {
	r := l.Stream(0)
	defer r.Close()
	r.onBad = func(offset int64, b []byte) {
		what := "not a valid line"
		if line, ok := parseLine(b); ok {
			what = fmt.Sprintf("lines whose offset is %d bytes higher", line.Offset()-offset)
		}
		p.addFault(offset, int64(len(b)), what, true)
	}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.addLine(line)
	}
}

func (p *Report) addLine(addLine Line) {
	t := addLine.Time()
	switch {
	case p.Lines == 0:
		p.Oldest = t
	case t.Before(p.Newest):
		p.addFault(addLine.Offset(), int64(len(addLine)), "the time is earlier than that of the line before", false)
	}
	p.Newest = t
	p.Lines++
	if addLine.Redacted() {
		p.Redacted++
	}
	if id := string(addLine[msgidAt : msgidAt+idSize]); id != p.ID {
		p.addFault(addLine.Offset(), int64(len(addLine)), "a line of the room "+id, false)
	}
}
