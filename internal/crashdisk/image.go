package crashdisk

// blockSize is the unit in which contents are kept, in bytes.
const blockSize = 4096

// Image is a content of a disk. It never changes, except as the content that a Disk shows.
type Image struct {
	below  *Image // what the blocks that are not in the map hold; nil is zeros
	blocks map[int64]*[blockSize]byte
}

func newImage(below *Image) *Image { return &Image{below, map[int64]*[blockSize]byte{}} }

// block returns a block that must not be changed, or nil if it was never written.
func (m *Image) block(number int64) *[blockSize]byte {
	for ; m != nil; m = m.below {
		if b := m.blocks[number]; b != nil {
			return b
		}
	}
	return nil
}

func (m *Image) read(p []byte, at int64) {
	for len(p) > 0 {
		start := at % blockSize
		n := min(int64(len(p)), blockSize-start)
		if b := m.block(at / blockSize); b != nil {
			copy(p[:n], b[start:])
		} else {
			clear(p[:n])
		}
		p, at = p[n:], at+n
	}
}

// write changes the image. Blocks of other images stay as they are.
func (m *Image) write(p []byte, at int64) {
	for len(p) > 0 {
		number, start := at/blockSize, at%blockSize
		b := m.blocks[number]
		if b == nil {
			b = new([blockSize]byte)
			if old := m.block(number); old != nil {
				*b = *old
			}
			m.blocks[number] = b
		}
		n := copy(b[start:], p)
		p, at = p[n:], at+int64(n)
	}
}
