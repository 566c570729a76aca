package page

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// File is the file of a database as of one commit. It belongs to one goroutine.
type File struct {
	file io.ReaderAt
	size int  // of a page, in bytes
	Head Head // the newer one

	spare []byte // a leaf that has been walked, for the next page
}

// Head is a head page: where the tree of all buckets begins, and what the newest commit was.
type Head struct {
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

// Open reads both head pages of a file and picks the newer, as bbolt does. length is that of the file, in bytes. Unlike bbolt it
// wants both heads whole: a head lies in one sector and is not torn by a power cut, and with the newer one gone bbolt would silently go back by one commit.
func Open(file io.ReaderAt, length int64) (*File, error) {
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
	p := &File{file: file, size: int(first.PageSize), Head: first}
	if second.Tx > first.Tx {
		p.Head = second
	}
	if p.Head.Count > uint64(length)/uint64(p.size) {
		return nil, fmt.Errorf("the file is cut off: it has %d bytes of %d", length, p.Head.Count*uint64(p.size))
	}
	return p, nil
}

func readHead(file io.ReaderAt, id uint64, at int64) (Head, error) {
	var h Head
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

// Assume is a file that bbolt has open and whose heads were read before. size is the length of a page in bytes, count the number
// of pages. Its Head has nothing else.
func Assume(file io.ReaderAt, size int, count uint64) *File {
	return &File{file: file, size: size, Head: Head{Count: count}}
}

// Clone is the same file for a walk in another goroutine.
func (p *File) Clone() *File {
	own := *p
	own.spare = nil
	return &own
}

// PageSize is the length of a page, in bytes.
func (p *File) PageSize() int { return p.size }

// page is a page's flags, its number of items and all its bytes.
func (p *File) page(id uint64) (flags uint16, count int, data []byte, err error) {
	if id < 2 || id >= p.Head.Count {
		return 0, 0, nil, fmt.Errorf("page %d is outside of the file's %d", id, p.Head.Count)
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
	if more >= p.Head.Count-id {
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

// Raw reads the bytes of a page unchecked. data has the length of a page.
func (p *File) Raw(id uint64, data []byte) error {
	if _, err := p.file.ReadAt(data, int64(id)*int64(p.size)); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}
