package images

import (
	"image"
	"image/draw"
)

// shrink returns a picture of a smaller size. Each of its pixels is the average of the area that it
// covers in p, weighted by opacity. Apart from the result it needs memory for a few rows only.
func shrink(p image.Image, size image.Point) image.Image {
	from := p.Bounds()
	to := canvas(p, image.Rectangle{Max: size})
	pixels := newRowReader(p)
	row := averages{in: from.Dx(), out: size.X}
	column := averages{in: from.Dy(), out: size.Y}
	sums := make([]uint64, 4*size.X) // of the row of the result in progress
	means := make([]uint64, 4*size.X)
	done := 0
	for y := range from.Dy() {
		row.reduce(pixels.read(y), means)
		ends, first, rest := column.next()
		addScaled(sums, means, first)
		if !ends {
			continue
		}
		writeRow(to, done, sums, uint64(column.in))
		done++
		clear(sums)
		addScaled(sums, means, rest)
	}
	return to
}

// averages divides a line of in units among out parts. A unit is out long and a part in, so that
// all lengths are whole numbers.
type averages struct {
	in, out int
	filled  int // length of the current part that earlier units cover
}

// next returns how a unit is divided: its length in the current part, whether that ends the part,
// and its length in the part that follows.
func (a *averages) next() (ends bool, first, rest uint64) {
	left := a.in - a.filled
	if a.out < left {
		a.filled += a.out
		return false, uint64(a.out), 0
	}
	a.filled = a.out - left
	return true, uint64(left), uint64(a.filled)
}

// reduce sets means to the averages of a row of pixels, of four channels each.
func (a *averages) reduce(pixels []uint16, means []uint64) {
	a.filled = 0
	var r, g, b, alpha uint64
	in, done := uint64(a.in), 0
	for ; len(pixels) >= 4; pixels = pixels[4:] {
		p := (*[4]uint16)(pixels)
		ends, first, rest := a.next()
		r += uint64(p[0]) * first
		g += uint64(p[1]) * first
		b += uint64(p[2]) * first
		alpha += uint64(p[3]) * first
		if !ends {
			continue
		}
		*(*[4]uint64)(means[done:]) = [4]uint64{r / in, g / in, b / in, alpha / in}
		done += 4
		r, g, b, alpha = uint64(p[0])*rest, uint64(p[1])*rest, uint64(p[2])*rest, uint64(p[3])*rest
	}
}

func addScaled(sums, means []uint64, by uint64) {
	for i, v := range means {
		sums[i] += v * by
	}
}

// rowReader reads rows of a picture as premultiplied channels of 16 bits.
type rowReader struct {
	picture image.Image
	row     *image.RGBA // a row of a picture that is not NRGBA
	pixels  []uint16
}

func newRowReader(p image.Image) *rowReader {
	width := p.Bounds().Dx()
	return &rowReader{picture: p, row: image.NewRGBA(image.Rect(0, 0, width, 1)), pixels: make([]uint16, 4*width)}
}

// read returns the pixels of a row, counted from 0. They are valid until the next call.
func (r *rowReader) read(y int) []uint16 {
	at := r.picture.Bounds().Min.Add(image.Pt(0, y))
	if p, ok := r.picture.(*image.NRGBA); ok {
		pix := p.Pix[p.PixOffset(at.X, at.Y):]
		for i := 0; i < len(r.pixels); i += 4 {
			alpha := uint32(pix[i+3]) * 0x101
			for channel := range 3 {
				r.pixels[i+channel] = uint16(uint32(pix[i+channel]) * alpha / 0xff)
			}
			r.pixels[i+3] = uint16(alpha)
		}
		return r.pixels
	}
	draw.Draw(r.row, r.row.Bounds(), r.picture, at, draw.Src)
	for i, v := range r.row.Pix {
		r.pixels[i] = uint16(v) * 0x101
	}
	return r.pixels
}

// writeRow writes a row of a canvas from sums of channels of 16 bits.
func writeRow(to draw.Image, y int, sums []uint64, of uint64) {
	mean := func(i int) uint64 { return min(0xffff, (sums[i]+of/2)/of) }
	switch to := to.(type) {
	case *image.Gray:
		for x := range to.Rect.Dx() {
			to.Pix[y*to.Stride+x] = uint8(mean(4*x) >> 8)
		}
	case *image.RGBA: // opaque
		for i := range sums {
			to.Pix[y*to.Stride+i] = uint8(mean(i) >> 8)
		}
	case *image.NRGBA:
		for i := 0; i < len(sums); i += 4 {
			alpha := mean(i + 3)
			if alpha == 0 {
				continue
			}
			for channel := range 3 {
				to.Pix[y*to.Stride+i+channel] = uint8(min(0xffff, mean(i+channel)*0xffff/alpha) >> 8)
			}
			to.Pix[y*to.Stride+i+3] = uint8(alpha >> 8)
		}
	}
}
