package main

import (
	"fmt"
	"math"
	"strings"
)

// The sizes of a picture, in its own units: panels stand side by side, each with room for its labels.
const (
	panelWidth  = 260
	panelHeight = 230
	plotLeft    = 52
	plotTop     = 34
	plotWidth   = 190
	plotHeight  = 150
)

// style is readable on light and dark pages. A picture does not know the colours of its page, only the preference of the reader's
// system.
const style = `<style>
text { font: 11px system-ui, sans-serif; fill: #57606a } .title { font-weight: 600; fill: #24292f }
.grid { stroke: #d0d7de } .linear { stroke: #8c959f; stroke-dasharray: 3 4; fill: none } .line { stroke: #0969da; stroke-width: 1.8; fill: none } circle { fill: #0969da }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 } .title { fill: #f0f6fc }
.grid { stroke: #3d444d } .linear { stroke: #656c76 } .line { stroke: #4493f8 } circle { fill: #4493f8 } }
</style>
`

// draw returns the picture of a growth. It has a panel with logarithmic axes for each cost. A dashed line through the last point
// shows linear growth.
func (g *growth) draw() []byte {
	var b strings.Builder
	width := panelWidth * len(g.curves)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, panelHeight, width, panelHeight)
	fmt.Fprintf(&b, "<title>Costs by the number of %s</title>\n%s", g.size, style)
	for i, c := range g.curves {
		fmt.Fprintf(&b, "<g transform=\"translate(%d 0)\">\n", i*panelWidth)
		c.draw(&b, g.size)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func (c *curve) draw(b *strings.Builder, size string) {
	x, y := c.medians()
	across, up := newAxis(x), newAxis(y)
	fmt.Fprintf(b, `<text class="title" x="%d" y="16">%s, %s</text>`+"\n", plotLeft, c.name, c.unit)
	for _, tick := range across.ticks() {
		at := plotLeft + across.place(tick)*plotWidth
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at, plotTop, at, plotTop+plotHeight, at, plotTop+plotHeight+15, tickLabel(tick))
	}
	for _, tick := range up.ticks() {
		at := plotTop + (1-up.place(tick))*plotHeight
		fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			plotLeft, at, plotLeft+plotWidth, at, plotLeft-5, at+4, tickLabel(tick))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+plotWidth/2, plotTop+plotHeight+33, size)
	c.drawLinear(b, across, up, x[len(x)-1], y[len(y)-1])
	var line, points strings.Builder
	for i := range x {
		px, py := plotLeft+across.place(x[i])*plotWidth, plotTop+(1-up.place(y[i]))*plotHeight
		fmt.Fprintf(&line, "%.1f,%.1f ", px, py)
		fmt.Fprintf(&points, `<circle cx="%.1f" cy="%.1f" r="2.8"/>`, px, py)
	}
	fmt.Fprintf(b, `<polyline class="line" points="%s"/>%s`+"\n", strings.TrimSpace(line.String()), points.String())
}

// drawLinear draws the line from the last point down to the nearest edge.
func (c *curve) drawLinear(b *strings.Builder, across, up axis, x, y float64) {
	decades := min(math.Log10(x)-across.low, math.Log10(y)-up.low)
	from := math.Pow(10, -decades)
	fmt.Fprintf(b, `<line class="linear" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n",
		plotLeft+across.place(x*from)*plotWidth, plotTop+(1-up.place(y*from))*plotHeight,
		plotLeft+across.place(x)*plotWidth, plotTop+(1-up.place(y))*plotHeight)
}

// axis is the range between two powers of ten.
type axis struct{ low, high float64 }

func newAxis(values []float64) axis {
	a := axis{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		a.low, a.high = min(a.low, math.Floor(math.Log10(v))), max(a.high, math.Ceil(math.Log10(v)))
	}
	if a.high == a.low {
		a.high++
	}
	return a
}

// place returns the position of a value on the axis, from 0 to 1.
func (a axis) place(v float64) float64 { return (math.Log10(v) - a.low) / (a.high - a.low) }

func (a axis) ticks() (ticks []float64) {
	for e := a.low; e <= a.high; e++ {
		ticks = append(ticks, math.Pow(10, e))
	}
	return ticks
}

// tickLabel writes a power of ten for people, such as 10k.
func tickLabel(v float64) string {
	switch {
	case v >= 999_999:
		return fmt.Sprintf("%.0fM", v/1e6)
	case v >= 999:
		return fmt.Sprintf("%.0fk", v/1e3)
	}
	return fmt.Sprintf("%g", math.Round(v*1e6)/1e6)
}
