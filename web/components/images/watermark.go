package images

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"slices"
	"strings"

	"weir/web"
)

// WatermarkConfig configures [Watermark].
type WatermarkConfig struct {
	// Image is the mark: a PNG file of at most a million pixels, with transparency. It is read
	// once. It must be set.
	Image string `hcl:"image"`
	// Place is top-left, top, top-right, left, center, right, bottom-left, bottom or bottom-right.
	// Empty: "bottom-right".
	Place string `hcl:"place,optional"`
	// Margin is the distance from the edge in pixels. 0: 16; negative: none.
	Margin int `hcl:"margin,optional"`
	// Opacity is the opacity of the mark, above 0 and up to 1. 0: 1.
	Opacity float64 `hcl:"opacity,optional"`
	// MinSide is the width or height in pixels below which a picture stays unchanged. 0: 128.
	MinSide int `hcl:"min_side,optional"`
	// Quality is the JPEG quality, 1 to 100. 0: 85.
	Quality int `hcl:"quality,optional"`

	// MaxBytes is the size in bytes above which a file stays unchanged. 0: 8,388,608 (8 MiB).
	MaxBytes int `hcl:"max_bytes,optional"`
	// MaxPixels is the number of pixels above which a picture stays unchanged. 0: 16,777,216.
	MaxPixels int `hcl:"max_pixels,optional"`
	// Workers is the number of pictures that are processed at once. 0: the number of CPUs.
	Workers int `hcl:"workers,optional"`
	// Queue is the number of pictures that may wait. 0: 4 times Workers.
	Queue int `hcl:"queue,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// the places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

var places = []string{"top-left", "top", "top-right", "left", "center", "right", "bottom-left", "bottom", "bottom-right"}

// Watermark is a filter that puts a mark on pictures. If a picture is less than three times as wide
// or high as the mark, the mark is scaled down to a third of the picture.
func Watermark(cfg WatermarkConfig) (web.Component, error) {
	l, err := limits{cfg.MaxBytes, cfg.MaxPixels, cfg.Workers, cfg.Queue}.withDefaults("watermark")
	if err != nil {
		return nil, err
	}
	w := watermark{place: slices.Index(places, cmp.Or(cfg.Place, "bottom-right")), margin: max(0, cmp.Or(cfg.Margin, 16)), minSide: cmp.Or(cfg.MinSide, 128)}
	opacity := cmp.Or(cfg.Opacity, 1)
	switch {
	case w.place < 0:
		return nil, fmt.Errorf("images: watermark: place is %q: choose %s", cfg.Place, strings.Join(places, ", "))
	case opacity < 0 || opacity > 1:
		return nil, fmt.Errorf("images: watermark: opacity is %g: choose a number above 0 and up to 1", opacity)
	case cfg.Quality < 0 || cfg.Quality > 100:
		return nil, fmt.Errorf("images: watermark: quality is %d: choose 1 to 100", cfg.Quality)
	case cfg.Image == "":
		return nil, errors.New("images: watermark: image is not set: name the PNG file of the mark")
	}
	if w.mark, err = readMark(cfg.Image); err != nil {
		return nil, err
	}
	w.mask = image.NewUniform(color.Alpha16{A: uint16(opacity * 0xffff)})
	f := &filter{limits: l, quality: cmp.Or(cfg.Quality, 85), change: w.put}
	f.workplaces = newWorkplaces(l, cfg.OnOverLimit)
	return web.Named("watermark", web.Filter(f.handle)), nil
}

func readMark(name string) (image.Image, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("images: watermark: %w", err)
	}
	defer f.Close()
	size, err := png.DecodeConfig(f)
	if err == nil && size.Width*size.Height > 1<<20 {
		return nil, fmt.Errorf("images: watermark: %s has %d by %d pixels: make it smaller than a million", name, size.Width, size.Height)
	}
	if err != nil {
		return nil, fmt.Errorf("images: watermark: %s: %w", name, err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, fmt.Errorf("images: watermark: %w", err)
	}
	mark, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("images: watermark: %s: %w", name, err)
	}
	return mark, nil
}

type watermark struct {
	mark            image.Image
	mask            image.Image
	place           int // index in places
	margin, minSide int
}

// put returns a picture with the mark on it.
func (w *watermark) put(on image.Image, _ bool) image.Image {
	b := on.Bounds()
	if b.Dx() < w.minSide || b.Dy() < w.minSide {
		return nil
	}
	to := canvas(on, b)
	draw.Draw(to, b, on, b.Min, draw.Src)
	mark := scaleToFit(w.mark, b.Dx()/3, b.Dy()/3)
	at := w.corner(b, mark.Bounds())
	draw.DrawMask(to, at, mark, mark.Bounds().Min, w.mask, image.Point{}, draw.Over)
	return to
}

// corner returns where on a picture the mark is put.
func (w *watermark) corner(picture, mark image.Rectangle) image.Rectangle {
	along := func(i, room, size int) int {
		margin := min(w.margin, (room-size)/2)
		return [...]int{margin, (room - size) / 2, room - size - margin}[i]
	}
	x, y := along(w.place%3, picture.Dx(), mark.Dx()), along(w.place/3, picture.Dy(), mark.Dy())
	return image.Rect(0, 0, mark.Dx(), mark.Dy()).Add(picture.Min).Add(image.Pt(x, y))
}

// scaleToFit returns a picture with at most this width and height.
func scaleToFit(p image.Image, width, height int) image.Image {
	b := p.Bounds()
	size := fitSize(b, width, height)
	if size == b.Size() {
		return p
	}
	return shrink(p, size)
}

// fitSize returns the size of b, scaled down in proportion to at most this width and height.
func fitSize(b image.Rectangle, width, height int) image.Point {
	by := min(1, float64(width)/float64(b.Dx()), float64(height)/float64(b.Dy()))
	return image.Pt(max(1, int(math.Round(float64(b.Dx())*by))), max(1, int(math.Round(float64(b.Dy())*by))))
}
