package session

import "github.com/google/go-cmp/cmp"

// ViewFields has all of a view compared.
var ViewFields = cmp.AllowUnexported(View{}, Turn{}, Message{}, place{}, compacted{}, stretch{}, Summary{}, slimmed{})

// Kinds are the kinds of entries that a log may have.
func Kinds() (kinds []string) {
	for kind := range bodies {
		kinds = append(kinds, kind)
	}
	return kinds
}

// KindOf is what a body calls itself.
func KindOf(b Body) string { return b.kind() }

// Remembered is how many stamps a view has, by id and in order.
func (v *View) Remembered() (ids, order int) { return len(v.stamps), len(v.stamped) }
