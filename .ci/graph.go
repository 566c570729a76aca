// Graph draws the packages of the module, and counts their files, lines, names and comments.
//
//	go run .ci/graph.go [-C DIR] [-tests] [-svg FILE]
//
// It asks the go command, so that the picture is what is built. -C reads another work tree, for a comparison. -tests draws the
// packages for tests as well.
//
// An import is not drawn if the package is also imported indirectly: cmd/thinkd may import every package below it. A package
// stands one level below the lowest package that imports it, and one that none imports directly above what it imports.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/proof/structure"
)

func main() {
	dir := flag.String("C", ".", "the root of the `work tree`")
	svg := flag.String("svg", "", "write the picture to this `file`")
	tests := flag.Bool("tests", false, "draw the packages for tests as well")
	flag.Parse()
	all, err := structure.Load(*dir, "./...")
	if err == nil {
		drawn := slices.DeleteFunc(slices.Clone(all), func(p *structure.Package) bool { return !*tests && forTests(p.Path) })
		g := newGraph(drawn)
		g.print(os.Stdout)
		table(os.Stdout, all)
		if *svg != "" {
			err = os.WriteFile(*svg, []byte(g.svg()), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "graph:", err)
		os.Exit(1)
	}
}

func forTests(path string) bool {
	return strings.HasPrefix(path, "cmd/thinkd/proof") || strings.HasPrefix(path, "bench") || strings.HasSuffix(path, "test") ||
		path == "provider/testgo" || path == "provider/sim/logins" || path == "clients/generate"
}

// table prints a row for each package, the largest first.
func table(w io.Writer, all []*structure.Package) {
	fmt.Fprintf(w, "\nLines are those that are not blank. Upward: pairs of files in which one uses a file before it, in the best order found.\n\n")
	fmt.Fprintf(w, "%-32s %5s %6s %8s %7s %5s %6s %8s\n", "package", "files", "lines", "exported", "private", "uses", "upward", "comments")
	var sum row
	rows := []row{}
	for _, p := range all {
		r := row{name: p.Path, files: len(p.Files), exported: p.Exported, private: p.Private, uses: p.Uses.Pairs()}
		_, r.upward = p.Uses.Order()
		for _, f := range p.Files {
			r.lines += f.Lines
			r.comments += f.Comments
		}
		rows = append(rows, r)
		sum.add(r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(a.name, b.name)) })
	sum.name = fmt.Sprintf("%d packages", len(rows))
	for _, r := range append(rows, sum) {
		fmt.Fprintf(w, "%-32s %5d %6d %8d %7d %5d %6d %7.0f%%\n",
			r.name, r.files, r.lines, r.exported, r.private, r.uses, r.upward, 100*float64(r.comments)/float64(r.lines))
	}
}

type row struct {
	name                                                    string
	files, lines, comments, exported, private, uses, upward int
}

func (r *row) add(s row) {
	r.files += s.files
	r.lines += s.lines
	r.comments += s.comments
	r.exported += s.exported
	r.private += s.private
	r.uses += s.uses
	r.upward += s.upward
}

// A graph is the packages by level. A line that passes a level has a point there, which takes part in the ordering as a
// package does.
type graph struct {
	levels [][]*node
	nodes  []*node // packages alone
}

type node struct {
	pkg   *structure.Package // nil: a point of a line
	level int
	down  []*node // what it imports; in the picture, the next point of the line
	up    []*node
	x     float64
}

func (n *node) path() string {
	if n.pkg == nil {
		return ""
	}
	return n.pkg.Path
}

func newGraph(packages []*structure.Package) *graph {
	g := &graph{}
	at := make(map[string]*node)
	for _, p := range packages {
		at[p.Path] = &node{pkg: p}
		g.nodes = append(g.nodes, at[p.Path])
	}
	reach := make(map[string]map[string]bool) // by package, what it imports through others
	var walk func(n *node) map[string]bool
	walk = func(n *node) map[string]bool {
		if reach[n.path()] == nil {
			r := make(map[string]bool)
			for _, name := range n.pkg.Imports {
				if m := at[name]; m != nil {
					for below := range walk(m) {
						r[below] = true
					}
					for _, direct := range m.pkg.Imports {
						r[direct] = true
					}
				}
			}
			reach[n.path()] = r
		}
		return reach[n.path()]
	}
	for _, n := range g.nodes {
		indirect := walk(n)
		for _, name := range n.pkg.Imports {
			if m := at[name]; m != nil && !indirect[name] {
				n.down, m.up = append(n.down, m), append(m.up, n)
			}
		}
	}
	height := 0
	for again := true; again; { // push each below all that import it
		again = false
		for _, n := range g.nodes {
			for _, m := range n.down {
				if m.level <= n.level {
					m.level, again = n.level+1, true
					height = max(height, m.level)
				}
			}
		}
	}
	for _, n := range g.nodes { // what none imports
		if len(n.up) == 0 && len(n.down) > 0 && n.path() != "cmd/thinkd" {
			n.level = slices.MinFunc(n.down, func(a, b *node) int { return cmp.Compare(a.level, b.level) }).level - 1
		}
	}
	g.levels = make([][]*node, height+1)
	for _, n := range g.nodes {
		g.levels[n.level] = append(g.levels[n.level], n)
	}
	return g
}

func (g *graph) print(w io.Writer) {
	for i, level := range g.levels {
		fmt.Fprintf(w, "%slevel %d\n", strings.Repeat("\n", min(i, 1)), i)
		slices.SortFunc(level, func(a, b *node) int { return strings.Compare(a.path(), b.path()) })
		for _, n := range level {
			var names []string
			for _, m := range n.down {
				names = append(names, m.path())
			}
			arrow := ""
			if len(names) > 0 {
				arrow = " -> " + strings.Join(names, ", ")
			}
			fmt.Fprintf(w, "    %s%s\n", n.path(), arrow)
		}
	}
}

const (
	boxHeight = 40.0
	between   = 14.0 // of neighbours
	rise      = 104.0
	margin    = 20.0
)

func (n *node) width() float64 {
	if n.pkg == nil {
		return 6
	}
	return max(130, 7.7*float64(len(n.path()))+20)
}

// svg draws the graph: each line gets a point on each level that it passes, the levels are ordered so that few lines
// cross, and each package moves towards those that it is connected with.
func (g *graph) svg() string {
	for _, n := range g.nodes {
		for i, m := range n.down {
			from := n
			for level := n.level + 1; level < m.level; level++ {
				point := &node{level: level, up: []*node{from}}
				g.levels[level] = append(g.levels[level], point)
				if from == n {
					n.down[i] = point
				} else {
					from.down = []*node{point}
				}
				from = point
			}
			if from != n {
				from.down = []*node{m}
				m.up[slices.Index(m.up, n)] = from
			}
		}
	}
	g.order()
	g.place()
	width := 0.0
	for _, level := range g.levels {
		for _, n := range level {
			width = max(width, n.x+n.width()/2+margin)
		}
	}
	height := float64(len(g.levels)-1)*rise + boxHeight + 2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-sans-serif, system-ui, sans-serif" text-anchor="middle">`+"\n",
		width, height, width, height)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for _, n := range g.nodes {
		for _, m := range n.down {
			colour := colours[family(n.path())]
			fmt.Fprintf(&b, `<path d="M%.0f %.0f`, n.x, n.y()+boxHeight)
			x, y := n.x, n.y()+boxHeight
			for {
				top := m.y()
				if m.pkg == nil {
					top += boxHeight / 2
				}
				bend := (top - y) / 2
				fmt.Fprintf(&b, `C%.0f %.0f %.0f %.0f %.0f %.0f`, x, y+bend, m.x, top-bend, m.x, top)
				x, y = m.x, top
				if m.pkg != nil {
					break
				}
				m = m.down[0]
			}
			fmt.Fprintf(&b, `" fill="none" stroke="%s" stroke-width="1.4" opacity=".65"/>`+"\n", colour)
		}
	}
	for _, n := range g.nodes {
		lines := 0
		for _, f := range n.pkg.Files {
			lines += f.Lines
		}
		colour := colours[family(n.path())]
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="6" fill="#fff" stroke="%s" stroke-width="1.6"/>`+"\n",
			n.x-n.width()/2, n.y(), n.width(), boxHeight, colour)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" font-size="13" font-weight="600" fill="#1a1a1a">%s</text>`+"\n", n.x, n.y()+17, n.path())
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" font-size="11" fill="#666">%d files, %d lines</text>`+"\n", n.x, n.y()+32, len(n.pkg.Files), lines)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (n *node) y() float64 { return margin + float64(n.level)*rise }

func family(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

var colours = map[string]string{"cmd": "#57606a", "rpc": "#8250df", "agent": "#0969da", "session": "#1a7f37", "provider": "#bc4c00", "registry": "#bf3989",
	"web": "#6e7781", "bench": "#6e7781", "clients": "#6e7781"}

// order sorts each level by the median of its neighbours above and below, back and forth, and keeps the order with the fewest
// crossings.
func (g *graph) order() {
	best, least := g.snapshot(), g.crossings()
	for round := range 60 {
		for i := range g.levels {
			level, neighbours := i, func(n *node) []*node { return n.up }
			if round%2 == 1 {
				level, neighbours = len(g.levels)-1-i, func(n *node) []*node { return n.down }
			}
			g.number()
			slices.SortStableFunc(g.levels[level], func(a, b *node) int {
				return cmp.Compare(middle(a, neighbours(a)), middle(b, neighbours(b)))
			})
		}
		g.swap()
		if n := g.crossings(); n < least {
			best, least = g.snapshot(), n
		}
	}
	g.levels = best
}

// swap exchanges neighbours on a level while that saves crossings.
func (g *graph) swap() {
	least := g.crossings()
	for _, level := range g.levels {
		for i := range len(level) - 1 {
			level[i], level[i+1] = level[i+1], level[i]
			if n := g.crossings(); n < least {
				least = n
			} else {
				level[i], level[i+1] = level[i+1], level[i]
			}
		}
	}
}

func (g *graph) snapshot() [][]*node {
	var all [][]*node
	for _, level := range g.levels {
		all = append(all, slices.Clone(level))
	}
	return all
}

// number sets each x to the place in the level.
func (g *graph) number() {
	for _, level := range g.levels {
		for i, n := range level {
			n.x = float64(i) / float64(len(level))
		}
	}
}

func middle(n *node, neighbours []*node) float64 {
	if len(neighbours) == 0 {
		return n.x
	}
	sum := 0.0
	for _, m := range neighbours {
		sum += m.x
	}
	return sum / float64(len(neighbours))
}

func (g *graph) crossings() int {
	g.number()
	n := 0
	for _, level := range g.levels {
		for i, a := range level {
			for _, b := range level[i+1:] {
				for _, c := range a.down {
					for _, d := range b.down {
						if c.x > d.x {
							n++
						}
					}
				}
			}
		}
	}
	return n
}

// place gives each level its coordinates: first one after the other, then each node is drawn to its neighbours as far as the
// level's order allows.
func (g *graph) place() {
	for _, level := range g.levels {
		x := margin
		for _, n := range level {
			n.x = x + n.width()/2
			x += n.width() + between
		}
	}
	for range 80 {
		for _, level := range g.levels {
			for _, n := range level {
				n.x = middle(n, slices.Concat(n.up, n.down))
			}
			spread(level)
		}
	}
	least := math.Inf(1)
	for _, level := range g.levels {
		least = min(least, level[0].x-level[0].width()/2)
	}
	for _, level := range g.levels {
		for _, n := range level {
			n.x += margin - least
		}
	}
}

// spread moves the nodes of a level as little as needed until none overlaps: a group that would overlap the one before joins
// it, and stands at the mean of what its members wish.
func spread(level []*node) {
	type group struct {
		nodes []*node
		wish  float64 // of the left edge, the sum over the nodes
		width float64
	}
	var groups []group
	for _, n := range level {
		groups = append(groups, group{[]*node{n}, n.x - n.width()/2, n.width() + between})
		for len(groups) > 1 {
			a, b := groups[len(groups)-2], groups[len(groups)-1]
			if a.wish/float64(len(a.nodes))+a.width <= b.wish/float64(len(b.nodes)) {
				break
			}
			joined := group{append(a.nodes, b.nodes...), a.wish + b.wish - a.width*float64(len(b.nodes)), a.width + b.width}
			groups = append(groups[:len(groups)-2], joined)
		}
	}
	for _, each := range groups {
		x := each.wish / float64(len(each.nodes))
		for _, n := range each.nodes {
			n.x = x + n.width()/2
			x += n.width() + between
		}
	}
}
