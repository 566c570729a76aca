package page

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Use has a bit for each page of a file: it is set when something uses the page. Page numbers must be those of the file.
type Use []uint64

// NewUse is a Use in which no page is taken.
func (p *File) NewUse() Use { return make(Use, p.Head.Count/64+1) }

// Has reports whether a page is taken.
func (u Use) Has(id uint64) bool { return u[id/64]>>(id%64)&1 != 0 }

// Take takes a page and those that follow it, pages in all. A page that is taken already is an error.
func (u Use) Take(id uint64, pages int) error {
	for next := id; next < id+uint64(pages); next++ {
		if u.Has(next) {
			return fmt.Errorf("page %d is in use twice", next)
		}
		u[next/64] |= 1 << (next % 64)
	}
	return nil
}

// Merge takes all pages that more has. If one of them is taken already, that is an error and u does not change.
func (u Use) Merge(more Use) error {
	for i, word := range more {
		if both := u[i] & word; both != 0 {
			return fmt.Errorf("page %d is in use twice", i*64+bits.TrailingZeros64(both))
		}
	}
	for i, word := range more {
		u[i] |= word
	}
	return nil
}

// Count is how many pages are taken.
func (u Use) Count() (n int) {
	for _, word := range u {
		n += bits.OnesCount64(word)
	}
	return n
}

// Free lists the free pages in order, and takes the pages that have the list.
func (p *File) Free(taken Use) ([]uint64, error) {
	if p.Head.Freelist == noFreelist {
		return nil, fmt.Errorf("there is no list of free pages")
	}
	flags, count, data, err := p.page(p.Head.Freelist)
	if err != nil {
		return nil, err
	}
	if flags != freelistPage {
		return nil, fmt.Errorf("page %d is no list of free pages", p.Head.Freelist)
	}
	if err := taken.Take(p.Head.Freelist, len(data)/p.size); err != nil {
		return nil, err
	}
	data = data[pageHeader:]
	if count == 0xFFFF { // the real count comes first
		long := binary.NativeEndian.Uint64(data)
		if long > p.Head.Count {
			return nil, fmt.Errorf("%d free pages of %d", long, p.Head.Count)
		}
		count, data = int(long), data[8:]
	}
	if count*8 > len(data) {
		return nil, fmt.Errorf("the list of free pages is cut off")
	}
	ids := make([]uint64, count)
	for i := range ids {
		ids[i] = binary.NativeEndian.Uint64(data[i*8:])
		switch {
		case ids[i] < 2 || ids[i] >= p.Head.Count:
			return nil, fmt.Errorf("free page %d is outside of the file's %d", ids[i], p.Head.Count)
		case i > 0 && ids[i] <= ids[i-1]:
			return nil, fmt.Errorf("free pages are out of order at %d", ids[i])
		}
	}
	return ids, nil
}
