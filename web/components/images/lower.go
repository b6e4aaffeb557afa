package images

import (
	"cmp"
	"fmt"
	"image"
	"strings"

	scale "golang.org/x/image/draw"

	"weir/web"
)

// LowerQualityConfig says how pictures are made smaller.
type LowerQualityConfig struct {
	// When is "save-data", for clients that ask for it (the field Save-Data: on), or "always".
	// Empty: save-data.
	When string `hcl:"when,optional"`
	// Quality is that of JPEG, 1 to 100. 0: 40.
	Quality int `hcl:"quality,optional"`
	// MaxSide is the width or height in pixels to which larger pictures are scaled. 0: 1280; less
	// than 0: none are.
	MaxSide int `hcl:"max_side,optional"`

	MaxBytes  int `hcl:"max_bytes,optional"`  // of a file; 0: 8 MiB
	MaxPixels int `hcl:"max_pixels,optional"` // of a picture; 0: 16 Mi
	Workers   int `hcl:"workers,optional"`    // pictures at once; 0: as many as there are CPUs
	Queue     int `hcl:"queue,optional"`      // that wait for it; 0: 4 times Workers
}

// LowerQuality is a filter that has pictures cost fewer bytes. A picture that would not become
// smaller stays as it is.
func LowerQuality(cfg LowerQualityConfig) (web.Component, error) {
	l, err := limits{cfg.MaxBytes, cfg.MaxPixels, cfg.Workers, cfg.Queue}.checked("lower quality")
	if err != nil {
		return nil, err
	}
	f := &filter{limits: l, quality: cmp.Or(cfg.Quality, 40), smaller: true, change: (&lower{maxSide: cmp.Or(cfg.MaxSide, 1280)}).scaled}
	switch cfg.When {
	case "", "save-data":
		f.wanted = savesData
	case "always":
	default:
		return nil, fmt.Errorf("images: lower quality: when is %q: choose save-data or always", cfg.When)
	}
	if cfg.Quality < 0 || cfg.Quality > 100 {
		return nil, fmt.Errorf("images: lower quality: quality is %d: choose 1 to 100", cfg.Quality)
	}
	return f.component("lower quality"), nil
}

// savesData says whether the client wants to save data, and that the response depends on it.
func savesData(c *web.Conn) bool {
	c.Vary("Save-Data")
	return strings.EqualFold(strings.TrimSpace(c.RequestHeader("Save-Data")), "on")
}

type lower struct{ maxSide int }

// scaled is a picture that is not too large.
func (l *lower) scaled(p image.Image) image.Image {
	b := p.Bounds()
	size := fit(b, l.maxSide, l.maxSide)
	if l.maxSide < 0 || size == b.Size() {
		return p
	}
	to := canvas(p, image.Rectangle{Max: size})
	scale.CatmullRom.Scale(to, to.Bounds(), p, b, scale.Src, nil)
	return to
}
