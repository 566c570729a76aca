package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation is the number, from 1 to 8, with which the Exif data of a JPEG say how to turn it; 1: as it is. A new JPEG has no such
// data, so Fit turns the image itself.
func orientation(data []byte) int {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker, size := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || size < 2 || at+2+size > len(data) { // the image itself begins
			return 1
		}
		segment := data[at+4 : at+2+size]
		if exif, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && marker == 0xe1 {
			return exifOrientation(exif)
		}
		at += 2 + size
	}
	return 1
}

// exifOrientation reads the tag 0x112 of the first directory of a TIFF structure.
func exifOrientation(exif []byte) int {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(exif, []byte("II*\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(exif, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return 1
	}
	if len(exif) < 8 {
		return 1
	}
	first := uint64(order.Uint32(exif[4:]))
	if first+2 > uint64(len(exif)) {
		return 1
	}
	list := exif[first+2:]
	for range order.Uint16(exif[first:]) {
		if len(list) < 12 {
			return 1
		}
		if order.Uint16(list) == 0x112 {
			if n := int(order.Uint16(list[8:])); n >= 1 && n <= 8 {
				return n
			}
			return 1
		}
		list = list[12:]
	}
	return 1
}

// turned is an image as its orientation says.
func turned(src *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 || orientation > 8 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		out = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			sx, sy := x, y
			switch orientation {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			copy(out.Pix[out.PixOffset(x, y):][:4], src.Pix[src.PixOffset(sx, sy):][:4])
		}
	}
	return out
}
