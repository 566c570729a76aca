package main

import (
	"math"
)

// A growth measures how costs depend on a size.
type growth struct {
	name    string // of its picture
	size    string // the size, for people
	sizes   []float64
	measure func(b *bench, g *growth, size int) error
	curves  []*curve
}

// curve is one cost over the sizes.
type curve struct {
	name, unit string
	x, y       []float64 // all measurements, in order
}

// add records a cost.
func (g *growth) add(name, unit string, size int, value float64) {
	for _, c := range g.curves {
		if c.name == name {
			c.x, c.y = append(c.x, float64(size)), append(c.y, value)
			return
		}
	}
	g.curves = append(g.curves, &curve{name, unit, []float64{float64(size)}, []float64{value}})
}

// recorder takes in a figure.
type recorder func(name, unit string, value float64)

// at records costs at one size.
func (g *growth) at(size int) recorder {
	return func(name, unit string, value float64) { g.add(name, unit, size, value) }
}

// medians returns one value for each size.
func (c *curve) medians() (x, y []float64) {
	for i, size := range c.x {
		if i > 0 && size == c.x[i-1] {
			continue
		}
		var same []float64
		for k := i; k < len(c.x) && c.x[k] == size; k++ {
			same = append(same, c.y[k])
		}
		x, y = append(x, size), append(y, quantile(same, 0.5))
	}
	return x, y
}

// exponent returns the slope of a line through the last two decades on logarithmic axes: 1 is linear. At smaller sizes,
// constant costs hide the growth.
func (c *curve) exponent() float64 {
	x, y := c.medians()
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		if x[i]*101 < x[len(x)-1] {
			continue
		}
		lx, ly := math.Log(x[i]), math.Log(y[i])
		n, sx, sy, sxx, sxy = n+1, sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// mostLinear is the largest exponent that counts as linear: measurements are noisy.
const mostLinear = 1.1
