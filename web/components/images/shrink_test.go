package images

import (
	"image"
	"image/color"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// areaAverage is the definition: the average of what a pixel of the result covers.
func areaAverage(p image.Image, size image.Point, x, y int) (channels [4]float64) {
	b := p.Bounds()
	wide, high := float64(b.Dx())/float64(size.X), float64(b.Dy())/float64(size.Y)
	overlap := func(i int, from, to float64) float64 {
		return max(0, min(to, float64(i+1))-max(from, float64(i)))
	}
	for sy := range b.Dy() {
		for sx := range b.Dx() {
			part := overlap(sx, float64(x)*wide, float64(x+1)*wide) * overlap(sy, float64(y)*high, float64(y+1)*high) / (wide * high)
			r, g, bl, a := p.At(b.Min.X+sx, b.Min.Y+sy).RGBA()
			for i, v := range []uint32{r, g, bl, a} {
				channels[i] += part * float64(v)
			}
		}
	}
	return channels
}

func TestAShrunkPixelIsTheAverageOfItsArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := image.Rect(0, 0, rapid.IntRange(1, 9).Draw(t, "width"), rapid.IntRange(1, 9).Draw(t, "height")).Add(image.Pt(rapid.IntRange(-2, 2).Draw(t, "left"), 1))
		var p interface {
			image.Image
			Set(x, y int, c color.Color)
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			p = image.NewNRGBA(bounds)
		case 1:
			p = image.NewGray(bounds)
		case 2:
			p = image.NewRGBA(bounds)
		case 3:
			p = image.NewNRGBA64(bounds)
		}
		pixel := rapid.Uint8()
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				p.Set(x, y, color.NRGBA{pixel.Draw(t, "r"), pixel.Draw(t, "g"), pixel.Draw(t, "b"), pixel.Draw(t, "a")})
			}
		}
		size := image.Pt(rapid.IntRange(1, bounds.Dx()).Draw(t, "to width"), rapid.IntRange(1, bounds.Dy()).Draw(t, "to height"))
		got := shrink(p, size)
		if got.Bounds() != (image.Rectangle{Max: size}) {
			t.Fatalf("got the bounds %v, want %v at the origin", got.Bounds(), size)
		}
		for y := range size.Y {
			for x := range size.X {
				want := areaAverage(p, size, x, y)
				r, g, b, a := got.At(x, y).RGBA()
				for i, v := range []uint32{r, g, b, a} {
					if math.Abs(float64(v)-want[i]) > 0x101*2.5 {
						t.Fatalf("%T %v to %v at %d,%d: got %v, want %v", p, bounds, size, x, y, []uint32{r, g, b, a}, want)
					}
				}
			}
		}
	})
}

func TestAPlainColourStaysAsItIs(t *testing.T) {
	for _, c := range []color.NRGBA{{10, 200, 30, 255}, {10, 200, 30, 128}, {0, 0, 0, 255}, {255, 255, 255, 255}} {
		p := image.NewNRGBA(image.Rect(0, 0, 101, 67))
		for i := 0; i < len(p.Pix); i += 4 {
			copy(p.Pix[i:], []uint8{c.R, c.G, c.B, c.A})
		}
		small := shrink(p, image.Pt(13, 7)).(*image.NRGBA)
		for y := range 7 {
			for x := range 13 {
				if got := small.NRGBAAt(x, y); got != c {
					t.Fatalf("at %d,%d: got %v, want %v", x, y, got, c)
				}
			}
		}
	}
}

func BenchmarkShrink(b *testing.B) {
	p := image.NewYCbCr(image.Rect(0, 0, 4000, 3000), image.YCbCrSubsampleRatio420)
	b.SetBytes(4000 * 3000)
	for b.Loop() {
		shrink(p, image.Pt(640, 480))
	}
}
