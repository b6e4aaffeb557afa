package images

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
)

// changed is a picture with the filter's change, encoded as it was; nil when it has to stay as it
// is.
func (f *filter) changed(picture []byte, kind string) []byte {
	decode, decodeConfig, carried := jpeg.Decode, jpeg.DecodeConfig, jpegCarried
	if kind == "image/png" {
		decode, decodeConfig, carried = png.Decode, png.DecodeConfig, pngCarried
	}
	size, err := decodeConfig(bytes.NewReader(picture))
	if err != nil || int64(size.Width)*int64(size.Height) > int64(f.maxPixels) {
		return nil
	}
	keep, ok := carried(picture)
	if !ok {
		return nil
	}
	before, err := decode(bytes.NewReader(picture))
	if err != nil {
		return nil
	}
	if _, cmyk := before.(*image.CMYK); cmyk {
		return nil
	}
	after := f.change(before)
	if after == nil {
		return nil
	}
	var out bytes.Buffer
	if kind == "image/png" {
		err = png.Encode(&out, after)
	} else {
		err = jpeg.Encode(&out, after, &jpeg.Options{Quality: f.quality})
	}
	if err != nil {
		return nil
	}
	if kind == "image/png" {
		return inserted(out.Bytes(), pngHead, keep)
	}
	return inserted(out.Bytes(), jpegHead, keep)
}

// canvas is a picture of the same channels that can be drawn on. RGBA is drawn on fastest, and
// loses nothing where all is opaque.
func canvas(of image.Image, size image.Rectangle) draw.Image {
	switch of.(type) {
	case *image.Gray, *image.Gray16:
		return image.NewGray(size)
	case *image.YCbCr:
		return image.NewRGBA(size)
	}
	return image.NewNRGBA(size)
}

// inserted is what an encoder has made, with what is carried over after its head.
func inserted(encoded []byte, head int, keep []byte) []byte {
	return append(append(bytes.Clone(encoded[:head]), keep...), encoded[head:]...)
}
