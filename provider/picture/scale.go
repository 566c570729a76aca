package picture

import (
	"image"
	"math"

	"golang.org/x/image/draw"
)

// scaled is an image of at most w times h pixels, w and h at most those of src. First the mean of whole squares of pixels replaces them,
// then a bilinear scaler does the rest, which is less than half. So all pixels count, and the memory is that of the result: the kernel
// scalers of x/image take 32 bytes for each pixel of a strip as high as the source.
func scaled(src image.Image, w, h int) *image.RGBA {
	b := src.Bounds()
	mean := means(src, max(min(b.Dx()/w, b.Dy()/h), 1))
	if mean.Rect.Dx() == w && mean.Rect.Dy() == h {
		return mean
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.ApproxBiLinear.Scale(out, out.Rect, mean, mean.Rect, draw.Src, nil)
	return out
}

// means returns an image in which each pixel is the mean of n times n pixels of src. Rows and columns that are left over are not used.
func means(src image.Image, n int) *image.RGBA {
	b := src.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()/n, b.Dy()/n))
	if n == 1 {
		draw.Draw(out, out.Rect, src, b.Min, draw.Src)
		return out
	}
	strip := image.NewRGBA(image.Rect(0, 0, b.Dx(), n)) // n rows at once: Draw knows how each type of image is stored
	for y := range out.Rect.Dy() {
		draw.Draw(strip, strip.Rect, src, image.Pt(b.Min.X, b.Min.Y+y*n), draw.Src)
		row := out.Pix[out.PixOffset(0, y):]
		for x := range out.Rect.Dx() {
			var sum [4]uint64
			for sy := range n {
				square := strip.Pix[strip.PixOffset(x*n, sy):][:4*n]
				for i := 0; i < len(square); i += 4 {
					sum[0] += uint64(square[i])
					sum[1] += uint64(square[i+1])
					sum[2] += uint64(square[i+2])
					sum[3] += uint64(square[i+3])
				}
			}
			for i := range sum {
				row[4*x+i] = uint8(sum[i] / uint64(n*n))
			}
		}
	}
	return out
}

// within is the size of an image of w times h pixels that is to have a side of at most side and at most so many pixels; 0: no bound. No
// side becomes 0.
func within(w, h, side, pixels int) (int, int) {
	factor := 1.0
	if longer := max(w, h); side > 0 && longer > side {
		factor = float64(side) / float64(longer)
	}
	if pixels > 0 && w*h > pixels {
		factor = min(factor, math.Sqrt(float64(pixels)/float64(w*h)))
	}
	if factor == 1 {
		return w, h
	}
	shorter := func(n int) int { return max(int(float64(n)*factor), 1) }
	return shorter(w), shorter(h)
}
