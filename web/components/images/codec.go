package images

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
)

// changePicture applies the filter to a picture and encodes it in the same format. It returns nil
// if the picture must stay unchanged.
func (f *filter) changePicture(picture []byte, kind string) []byte {
	decode, decodeConfig, carried := jpeg.Decode, jpeg.DecodeConfig, jpegMetadata
	if kind == "image/png" {
		decode, decodeConfig, carried = png.Decode, png.DecodeConfig, pngMetadata
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
	after := f.change(before, isTurned(kind, keep))
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
		return insertAfterHead(out.Bytes(), pngHead, keep)
	}
	return insertAfterHead(out.Bytes(), jpegHead, keep)
}

// canvas returns an empty picture with the same channels to draw on. Drawing on RGBA is fastest,
// and lossless for opaque pictures.
func canvas(of image.Image, size image.Rectangle) draw.Image {
	switch of.(type) {
	case *image.Gray, *image.Gray16:
		return image.NewGray(size)
	case *image.YCbCr:
		return image.NewRGBA(size)
	}
	return image.NewNRGBA(size)
}

// insertAfterHead inserts metadata behind the head of an encoded picture.
func insertAfterHead(encoded []byte, head int, keep []byte) []byte {
	return append(append(bytes.Clone(encoded[:head]), keep...), encoded[head:]...)
}
