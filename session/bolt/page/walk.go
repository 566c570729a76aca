package page

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Walk calls f with all items of the tree at root, in the order of their keys, and takes its pages. Keys and values are valid
// until f returns. An error of f ends the walk.
func (p *File) Walk(root uint64, taken Use, f func(Item) error) error {
	return p.walkRange(root, nil, nil, 0, taken, f)
}

// walkRange walks the tree whose keys are from low to below high; nil is no limit.
func (p *File) walkRange(id uint64, low, high []byte, depth int, taken Use, f func(Item) error) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is deeper than any tree", id)
	}
	flags, count, data, err := p.page(id)
	if err != nil {
		return err
	}
	if err := taken.Take(id, len(data)/p.size); err != nil {
		return err
	}
	switch flags {
	case leafPage:
		err := leaf(id, count, data, p.size, low, high, f)
		p.spare = data[:p.size]
		return err
	case branchPage:
		children, err := branch(id, count, data, p.size, low, high)
		if err != nil {
			return err
		}
		return p.walkChildren(children, high, depth, taken, f)
	}
	return fmt.Errorf("page %d is neither branch nor leaf but %#x", id, flags)
}

// walkChildren walks the subtrees of a branch at depth.
func (p *File) walkChildren(children []child, high []byte, depth int, taken Use, f func(Item) error) error {
	for i, child := range children {
		next := high
		if i+1 < len(children) {
			next = children[i+1].key
		}
		if err := p.walkRange(child.page, child.key, next, depth+1, taken, f); err != nil {
			return err
		}
	}
	return nil
}

// Part is some of a bucket: children of its root, in order, or all of it.
type Part struct {
	children []child // nil: all
	high     []byte  // the key that is above them all; nil: no limit
	all      Item
}

// Parts cuts a bucket into number parts, or fewer if it is small, for walks in parallel. If it cuts the root page, it takes that.
func (p *File) Parts(b Item, number int, taken Use) ([]Part, error) {
	if !b.Bucket || len(b.Value) < 16 {
		return nil, fmt.Errorf("is no bucket")
	}
	root := binary.NativeEndian.Uint64(b.Value)
	if root == 0 {
		return []Part{{all: b}}, nil
	}
	flags, count, data, err := p.page(root)
	if err != nil {
		return nil, err
	}
	if flags != branchPage {
		return []Part{{all: b}}, nil
	}
	if err := taken.Take(root, len(data)/p.size); err != nil {
		return nil, err
	}
	children, err := branch(root, count, data, p.size, nil, nil)
	if err != nil {
		return nil, err
	}
	var list []Part
	for some := range slices.Chunk(children, (len(children)+number-1)/number) {
		if len(list) > 0 {
			list[len(list)-1].high = some[0].key
		}
		list = append(list, Part{children: some})
	}
	return list, nil
}

// WalkPart is WalkBucket for a part of a bucket.
func (p *File) WalkPart(b Part, taken Use, f func(Item) error) error {
	if b.children == nil {
		return p.WalkBucket(b.all, taken, f)
	}
	return p.walkChildren(b.children, b.high, 0, taken, f)
}

// WalkValues is WalkBucket for a bucket of values only.
func (p *File) WalkValues(b Item, taken Use, f func(Item) error) error {
	return p.WalkBucket(b, taken, Values(f))
}

// Values makes f refuse buckets: bbolt would follow what is marked as one.
func Values(f func(Item) error) func(Item) error {
	return func(it Item) error {
		if it.Bucket {
			return fmt.Errorf("key %q is a bucket", it.Key)
		}
		return f(it)
	}
}

// WalkBucket walks the bucket that an item holds, as Walk does. Its value is a header with the page of its tree, or for page 0 the
// one leaf itself.
func (p *File) WalkBucket(b Item, taken Use, f func(Item) error) error {
	if !b.Bucket || len(b.Value) < 16 {
		return fmt.Errorf("is no bucket")
	}
	if root := binary.NativeEndian.Uint64(b.Value); root != 0 {
		return p.Walk(root, taken, f)
	}
	inline := b.Value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return fmt.Errorf("is no inline bucket")
	}
	return leaf(0, int(binary.NativeEndian.Uint16(inline[10:])), inline, 0, nil, nil, f)
}
