package crashdisk

import "math/rand/v2"

// Recording is what happened to a disk from Record on.
type Recording struct {
	End int // the position of the end

	before  *Image
	writes  []write
	flushes []flush
	covered []int // for each write the position at which a flush had stored it; 0 is never
}

// coverWrites finds the first flush for each write that was received after the write's reply.
func (r *Recording) coverWrites() {
	r.covered = make([]int, len(r.writes))
	for i, w := range r.writes {
		for _, f := range r.flushes {
			if w.replied != 0 && f.received > w.replied {
				r.covered[i] = f.replied
				break
			}
		}
	}
}

// Flushes returns for each flush the last position before the reply to it. A power loss there takes
// the most.
func (r *Recording) Flushes() (positions []int) {
	for _, f := range r.flushes {
		positions = append(positions, f.replied)
	}
	return positions
}

// Fate decides what becomes of a write that no flush has stored: which of its sectors are kept.
type Fate func(sectors int) (kept func(sector int) bool)

// Lost is the fate of all such writes on a disk whose cache is lost.
func Lost(int) func(int) bool { return func(int) bool { return false } }

// Kept is their fate on a disk that had written them all in time.
func Kept(int) func(int) bool { return func(int) bool { return true } }

// Random returns a fate in which each write is kept with some probability, and one in eight is
// torn: a random selection of its sectors is kept.
func Random(random *rand.Rand) Fate {
	probability := random.Float64()
	return func(sectors int) func(int) bool {
		if random.IntN(8) == 0 {
			return func(int) bool { return random.IntN(2) == 0 }
		}
		if random.Float64() < probability {
			return Kept(sectors)
		}
		return Lost(sectors)
	}
}

// Crash returns what the disk holds if the power goes at a position, with sectors of this size in
// bytes. The number lost is that of the writes that are lost or torn.
func (r *Recording) Crash(position, sector int, fate Fate) (m *Image, lost int) {
	m = newImage(r.before)
	for i, w := range r.writes {
		if w.received >= position {
			break
		}
		if c := r.covered[i]; c != 0 && c < position {
			m.write(w.data, w.at)
			continue
		}
		whole := true
		kept := fate((len(w.data) + sector - 1) / sector)
		for start := 0; start < len(w.data); start += sector {
			if kept(start / sector) {
				m.write(w.data[start:min(start+sector, len(w.data))], w.at+int64(start))
			} else {
				whole = false
			}
		}
		if !whole {
			lost++
		}
	}
	return m, lost
}
