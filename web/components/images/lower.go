package images

import (
	"cmp"
	"fmt"
	"image"
	"strings"

	"weir/web"
)

// LowerQualityConfig configures [LowerQuality].
type LowerQualityConfig struct {
	// When is "save-data", for clients that request it (the field Save-Data: on), or "always".
	// Empty: "save-data".
	When string `hcl:"when,optional"`
	// Quality is the JPEG quality, 1 to 100. 0: 40.
	Quality int `hcl:"quality,optional"`
	// MaxSide is the width or height in pixels to which larger pictures are scaled down. 0: 1280;
	// negative: no scaling.
	MaxSide int `hcl:"max_side,optional"`

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

// LowerQuality is a filter that reduces the size of pictures in bytes. A picture that would not
// become smaller stays unchanged.
func LowerQuality(cfg LowerQualityConfig) (web.Component, error) {
	l, err := limits{cfg.MaxBytes, cfg.MaxPixels, cfg.Workers, cfg.Queue}.withDefaults("lower quality")
	if err != nil {
		return nil, err
	}
	f := &filter{limits: l, quality: cmp.Or(cfg.Quality, 40), smaller: true, change: (&downscaler{maxSide: cmp.Or(cfg.MaxSide, 1280)}).scaled}
	switch cfg.When {
	case "", "save-data":
		f.applies = savesData
	case "always":
	default:
		return nil, fmt.Errorf("images: lower quality: when is %q: choose save-data or always", cfg.When)
	}
	if cfg.Quality < 0 || cfg.Quality > 100 {
		return nil, fmt.Errorf("images: lower quality: quality is %d: choose 1 to 100", cfg.Quality)
	}
	f.workplaces = newWorkplaces(l, cfg.OnOverLimit)
	return web.Named("lower quality", web.Filter(f.handle)), nil
}

// savesData reports whether the client wants to save data. It adds Save-Data to Vary.
func savesData(c *web.Conn) bool {
	c.Vary("Save-Data")
	return strings.EqualFold(strings.TrimSpace(c.RequestHeader("Save-Data")), "on")
}

type downscaler struct{ maxSide int }

// scaled returns the picture, scaled down if it is too large.
func (l *downscaler) scaled(p image.Image, _ bool) image.Image {
	size := fitSize(p.Bounds(), l.maxSide, l.maxSide)
	if l.maxSide < 0 || size == p.Bounds().Size() {
		return p
	}
	return shrink(p, size)
}
