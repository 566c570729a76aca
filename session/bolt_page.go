package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/bits"
	"slices"
)

// pages reads the file of a bbolt database without bbolt, which maps it into memory and trusts it: on a damaged page it
// panics, faults, follows a ring of branches until the stack ends the process, or lets an open write pages that are in
// use. So whatever bbolt is to read has been walked here once before. The format is that of bbolt's version 2 pages
// (go.etcd.io/bbolt/internal/common), in the byte order of the machine.
//
// A walk checks more than bbolt does: a page is exactly as bbolt writes it, with no gap between its items, so that a
// wrong count or length shows.
type pages struct {
	file io.ReaderAt
	size int // of a page, in bytes
	head head

	spare []byte // a leaf that has been walked, for the next page
}

// head is the part of a meta page that counts.
type head struct {
	Magic, Version, PageSize, Flags uint32
	Root, Sequence                  uint64 // of the bucket of buckets
	Freelist                        uint64 // its page
	Count                           uint64 // of pages in use or free; the file may be longer
	Tx                              uint64
	Checksum                        uint64
}

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeader = 16 // id 8, flags 2, count 2, overflow 4
	itemHeader = 16 // leaf: flags 4, position 4, key 4, value 4; branch: position 4, key 4, page 8
	headSize   = 64

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10

	bucketItem = 0x01

	noFreelist = ^uint64(0)

	maxDepth = 64 // of a tree; a real one has less than ten
)

// readPages reads both head pages and picks the newer, as bbolt does. Unlike bbolt it wants both whole: a head lies in
// one sector and is not torn by a power cut, and with the newer one gone bbolt would silently go back by one commit.
func readPages(file io.ReaderAt, length int64) (*pages, error) {
	first, err := readHead(file, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("first head page: %w", err)
	}
	second, err := readHead(file, 1, int64(first.PageSize))
	if err != nil {
		return nil, fmt.Errorf("second head page: %w", err)
	}
	if first.PageSize != second.PageSize {
		return nil, fmt.Errorf("the head pages differ in their page size")
	}
	p := &pages{file: file, size: int(first.PageSize), head: first}
	if second.Tx > first.Tx {
		p.head = second
	}
	if p.head.Count > uint64(length)/uint64(p.size) {
		return nil, fmt.Errorf("the file is cut off: it has %d bytes of %d", length, p.head.Count*uint64(p.size))
	}
	return p, nil
}

func readHead(file io.ReaderAt, id uint64, at int64) (head, error) {
	var h head
	page := make([]byte, pageHeader+headSize)
	if _, err := file.ReadAt(page, at); err != nil {
		return h, err
	}
	body := page[pageHeader:]
	if _, err := binary.Decode(body, binary.NativeEndian, &h); err != nil {
		return h, err
	}
	sum := fnv.New64a()
	sum.Write(body[:headSize-8])
	switch {
	case binary.NativeEndian.Uint64(page) != id || binary.NativeEndian.Uint16(page[8:]) != metaPage:
		return h, fmt.Errorf("is no head page")
	case h.Magic != boltMagic || h.Version != boltVersion:
		return h, fmt.Errorf("is not that of a store")
	case h.Checksum != sum.Sum64():
		return h, fmt.Errorf("has a wrong checksum")
	case h.PageSize < 1024 || h.PageSize > 1<<24 || h.PageSize&(h.PageSize-1) != 0:
		return h, fmt.Errorf("has a page size of %d", h.PageSize)
	}
	return h, nil
}

// page is a page's flags, its number of items and all its bytes.
func (p *pages) page(id uint64) (flags uint16, count int, data []byte, err error) {
	if id < 2 || id >= p.head.Count {
		return 0, 0, nil, fmt.Errorf("page %d is outside of the file's %d", id, p.head.Count)
	}
	if data, p.spare = p.spare, nil; data == nil {
		data = make([]byte, p.size)
	}
	if _, err := p.file.ReadAt(data, int64(id)*int64(p.size)); err != nil {
		return 0, 0, nil, fmt.Errorf("page %d: %w", id, err)
	}
	if self := binary.NativeEndian.Uint64(data); self != id {
		return 0, 0, nil, fmt.Errorf("page %d calls itself %d", id, self)
	}
	flags = binary.NativeEndian.Uint16(data[8:])
	count = int(binary.NativeEndian.Uint16(data[10:]))
	more := uint64(binary.NativeEndian.Uint32(data[12:]))
	if more >= p.head.Count-id {
		return 0, 0, nil, fmt.Errorf("page %d goes on for %d pages, past the end", id, more)
	}
	if more > 0 {
		data = slices.Grow(data, int(more)*p.size)[:int(more+1)*p.size]
		if _, err := p.file.ReadAt(data[p.size:], int64(id+1)*int64(p.size)); err != nil {
			return 0, 0, nil, fmt.Errorf("page %d: %w", id, err)
		}
	}
	return flags, count, data, nil
}

// use has a bit for each page that something has.
type use []uint64

func (p *pages) newUse() use { return make(use, p.head.Count/64+1) }

func (u use) has(id uint64) bool { return u[id/64]>>(id%64)&1 != 0 }

func (u use) take(id uint64, bytes, size int) error {
	for next := id; next < id+uint64(bytes/size); next++ {
		if u.has(next) {
			return fmt.Errorf("page %d is in use twice", next)
		}
		u[next/64] |= 1 << (next % 64)
	}
	return nil
}

// merge takes all that another has.
func (u use) merge(more use) error {
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

func (u use) count() (n int) {
	for _, word := range u {
		n += bits.OnesCount64(word)
	}
	return n
}

// free lists the free pages and takes the pages of the list.
func (p *pages) free(taken use) ([]uint64, error) {
	if p.head.Freelist == noFreelist {
		return nil, fmt.Errorf("there is no list of free pages")
	}
	flags, count, data, err := p.page(p.head.Freelist)
	if err != nil {
		return nil, err
	}
	if flags != freelistPage {
		return nil, fmt.Errorf("page %d is no list of free pages", p.head.Freelist)
	}
	if err := taken.take(p.head.Freelist, len(data), p.size); err != nil {
		return nil, err
	}
	data = data[pageHeader:]
	if count == 0xFFFF { // the real count comes first
		long := binary.NativeEndian.Uint64(data)
		if long > p.head.Count {
			return nil, fmt.Errorf("%d free pages of %d", long, p.head.Count)
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
		case ids[i] < 2 || ids[i] >= p.head.Count:
			return nil, fmt.Errorf("free page %d is outside of the file's %d", ids[i], p.head.Count)
		case i > 0 && ids[i] <= ids[i-1]:
			return nil, fmt.Errorf("free pages are out of order at %d", ids[i])
		}
	}
	return ids, nil
}

// item is a key with a value, or with a bucket.
type item struct {
	key, value []byte
	bucket     bool
}

// clone is for who keeps an item.
func (it item) clone() item {
	return item{bytes.Clone(it.key), bytes.Clone(it.value), it.bucket}
}

// walk calls f with all items of the tree at root, in order, and takes its pages. Keys and values are f's until it returns.
func (p *pages) walk(root uint64, taken use, f func(item) error) error {
	return p.walkRange(root, nil, nil, 0, taken, f)
}

// walkRange walks the tree whose keys are from low to below high; nil is no limit.
func (p *pages) walkRange(id uint64, low, high []byte, depth int, taken use, f func(item) error) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is deeper than any tree", id)
	}
	flags, count, data, err := p.page(id)
	if err != nil {
		return err
	}
	if err := taken.take(id, len(data), p.size); err != nil {
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
func (p *pages) walkChildren(children []child, high []byte, depth int, taken use, f func(item) error) error {
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

// part is some of a bucket: children of its root, in order, or all of it.
type part struct {
	children []child // nil: all
	high     []byte  // the key that is above them all; nil: no limit
	all      item
}

// parts cuts a bucket into as many, or fewer if it is small, for walks beside each other. It takes the root, if that is cut.
func (p *pages) parts(b item, number int, taken use) ([]part, error) {
	if !b.bucket || len(b.value) < 16 {
		return nil, fmt.Errorf("is no bucket")
	}
	root := binary.NativeEndian.Uint64(b.value)
	if root == 0 {
		return []part{{all: b}}, nil
	}
	flags, count, data, err := p.page(root)
	if err != nil {
		return nil, err
	}
	if flags != branchPage {
		return []part{{all: b}}, nil
	}
	if err := taken.take(root, len(data), p.size); err != nil {
		return nil, err
	}
	children, err := branch(root, count, data, p.size, nil, nil)
	if err != nil {
		return nil, err
	}
	var list []part
	for some := range slices.Chunk(children, (len(children)+number-1)/number) {
		if len(list) > 0 {
			list[len(list)-1].high = some[0].key
		}
		list = append(list, part{children: some})
	}
	return list, nil
}

// walkPart is walkBucket for a part of a bucket.
func (p *pages) walkPart(b part, taken use, f func(item) error) error {
	if b.children == nil {
		return p.walkBucket(b.all, taken, f)
	}
	return p.walkChildren(b.children, b.high, 0, taken, f)
}

// walkValues is walkBucket for a bucket that holds values only.
func (p *pages) walkValues(b item, taken use, f func(item) error) error {
	return p.walkBucket(b, taken, values(f))
}

// values refuses buckets among values: what is marked as one, bbolt would follow.
func values(f func(item) error) func(item) error {
	return func(it item) error {
		if it.bucket {
			return fmt.Errorf("key %q is a bucket", it.key)
		}
		return f(it)
	}
}

// isInline reports whether a bucket is part of its item, or is broken: both are seen without reading more pages.
func isInline(b item) bool {
	return !b.bucket || len(b.value) < 16 || binary.NativeEndian.Uint64(b.value) == 0
}

// walkBucket walks the bucket that an item holds: a header with the page of its tree, or for page 0 the one leaf itself.
func (p *pages) walkBucket(b item, taken use, f func(item) error) error {
	if !b.bucket || len(b.value) < 16 {
		return fmt.Errorf("is no bucket")
	}
	if root := binary.NativeEndian.Uint64(b.value); root != 0 {
		return p.walk(root, taken, f)
	}
	inline := b.value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return fmt.Errorf("is no inline bucket")
	}
	return leaf(0, int(binary.NativeEndian.Uint16(inline[10:])), inline, 0, nil, nil, f)
}

// leaf reads a leaf. A size of 0 is an inline bucket, whose data ends with its last item.
func leaf(id uint64, count int, data []byte, size int, low, high []byte, f func(item) error) error {
	at := pageHeader + count*itemHeader // where the next key must begin
	var last []byte
	for i := range count {
		begin := pageHeader + i*itemHeader
		if begin+itemHeader > len(data) {
			return fmt.Errorf("page %d is full after %d of %d items", id, i, count)
		}
		flags := binary.NativeEndian.Uint32(data[begin:])
		position := int(binary.NativeEndian.Uint32(data[begin+4:]))
		key := int(binary.NativeEndian.Uint32(data[begin+8:]))
		value := int(binary.NativeEndian.Uint32(data[begin+12:]))
		if begin+position != at || key <= 0 || value < 0 || key > len(data)-at || value > len(data)-at-key || flags > bucketItem {
			return fmt.Errorf("page %d has a broken item %d", id, i)
		}
		it := item{data[at : at+key : at+key], data[at+key : at+key+value : at+key+value], flags == bucketItem}
		if i == 0 && low != nil && bytes.Compare(it.key, low) < 0 || i > 0 && bytes.Compare(it.key, last) <= 0 ||
			high != nil && bytes.Compare(it.key, high) >= 0 {
			return fmt.Errorf("page %d has item %d out of order", id, i)
		}
		if err := f(it); err != nil {
			return err
		}
		last = it.key
		at += key + value
	}
	return endsAt(id, at, len(data), size)
}

// endsAt checks that a page has no more and no fewer bytes than its items fill.
func endsAt(id uint64, at, length, size int) error {
	if size == 0 && at != length || size > 0 && (at+size-1)/size != length/size {
		return fmt.Errorf("page %d has %d bytes for %d", id, length, at)
	}
	return nil
}

type child struct {
	key  []byte
	page uint64
}

func branch(id uint64, count int, data []byte, size int, low, high []byte) ([]child, error) {
	if count == 0 {
		return nil, fmt.Errorf("page %d is a branch to nothing", id)
	}
	children := make([]child, 0, min(count, len(data)/itemHeader))
	at := pageHeader + count*itemHeader
	for i := range count {
		begin := pageHeader + i*itemHeader
		if begin+itemHeader > len(data) {
			return nil, fmt.Errorf("page %d is full after %d of %d branches", id, i, count)
		}
		position := int(binary.NativeEndian.Uint32(data[begin:]))
		length := int(binary.NativeEndian.Uint32(data[begin+4:]))
		if begin+position != at || length <= 0 || length > len(data)-at {
			return nil, fmt.Errorf("page %d has a broken branch %d", id, i)
		}
		key := data[at : at+length : at+length]
		if i == 0 && low != nil && bytes.Compare(key, low) < 0 || i > 0 && bytes.Compare(key, children[i-1].key) <= 0 ||
			high != nil && bytes.Compare(key, high) >= 0 {
			return nil, fmt.Errorf("page %d has branch %d out of order", id, i)
		}
		children = append(children, child{key, binary.NativeEndian.Uint64(data[begin+8:])})
		at += length
	}
	return children, endsAt(id, at, len(data), size)
}
