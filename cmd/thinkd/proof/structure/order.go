package structure

import (
	"fmt"
	"maps"
	"slices"
)

// Uses is what the files of a package use of each other: by file that uses and file that has it, one of the names.
type Uses map[string]map[string]string

// Pairs is the number of pairs of files in which the one uses the other.
func (u Uses) Pairs() int {
	n := 0
	for _, to := range u {
		n += len(to)
	}
	return n
}

// Cycle is one way from a file back to itself, nil if there is none.
func (u Uses) Cycle() []string {
	done := make(map[string]bool)
	var way []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if i := slices.Index(way, file); i >= 0 {
			var cycle []string
			for ; i < len(way); i++ {
				to := file
				if i+1 < len(way) {
					to = way[i+1]
				}
				cycle = append(cycle, fmt.Sprintf("%s uses %s of %s", way[i], u[way[i]][to], to))
			}
			return cycle
		}
		if done[file] {
			return nil
		}
		done[file] = true
		way = append(way, file)
		defer func() { way = way[:len(way)-1] }()
		for _, to := range slices.Sorted(maps.Keys(u[file])) {
			if cycle := visit(to); cycle != nil {
				return cycle
			}
		}
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(u)) {
		if cycle := visit(file); cycle != nil {
			return cycle
		}
	}
	return nil
}

// Order returns the files in an order in which few of them use a file before them, and how many pairs still do. It is 0
// where the files have no cycle. The least number is hard to find (feedback arc set), so this is an upper bound of it.
func (u Uses) Order() (files []string, upward int) {
	left := make(map[string]bool)
	for from, used := range u {
		left[from] = true
		for to := range used {
			left[to] = true
		}
	}
	users, used := func(f string) (n int) { // of what is left
		for g := range left {
			if _, ok := u[g][f]; ok {
				n++
			}
		}
		return n
	}, func(f string) (n int) {
		for g := range u[f] {
			if left[g] {
				n++
			}
		}
		return n
	}
	// Files that nothing uses go to the front and files that use nothing to the back. Of a cycle, the file goes to the front that
	// uses the most and is used the least (Eades, Lin and Smyth, 1993).
	var front, back []string
	for len(left) > 0 {
		names := slices.Sorted(maps.Keys(left))
		best, most := names[0], -len(u)-1
		sink := ""
		for _, f := range names {
			out, in := used(f), users(f)
			if out == 0 {
				sink = f
				break
			}
			if in == 0 {
				out = len(u) + 1
			}
			if out-in > most {
				best, most = f, out-in
			}
		}
		if sink != "" {
			back = append(back, sink)
			delete(left, sink)
			continue
		}
		front = append(front, best)
		delete(left, best)
	}
	slices.Reverse(back)
	return u.improve(append(front, back...))
}

// improve moves single files while that helps.
func (u Uses) improve(order []string) ([]string, int) {
	upward := u.Upward(order)
	for better := upward > 0; better; {
		better = false
		for from := range order {
			for to := range order {
				moved := slices.Insert(slices.Delete(slices.Clone(order), from, from+1), to, order[from])
				if n := u.Upward(moved); n < upward {
					order, upward, better = moved, n, true
				}
			}
		}
	}
	return order, upward
}

// Upward counts the pairs of files in which one uses another that stands before it in the order.
func (u Uses) Upward(order []string) int {
	place := make(map[string]int)
	for i, f := range order {
		place[f] = i
	}
	n := 0
	for from, used := range u {
		for to := range used {
			if place[to] < place[from] {
				n++
			}
		}
	}
	return n
}
