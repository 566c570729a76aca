package page

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Item is a key with a value, or with a bucket.
type Item struct {
	Key, Value []byte
	Bucket     bool
}

// Clone is a copy to keep: what a walk hands out is valid until its function returns.
func (it Item) Clone() Item {
	return Item{bytes.Clone(it.Key), bytes.Clone(it.Value), it.Bucket}
}

// Inline reports whether a bucket is part of its item, or is broken: both are seen without reading more pages.
func (b Item) Inline() bool {
	return !b.Bucket || len(b.Value) < 16 || binary.NativeEndian.Uint64(b.Value) == 0
}

// BucketAt is an item with the bucket whose tree has its root at a page.
func BucketAt(root uint64) Item {
	value := binary.NativeEndian.AppendUint64(nil, root)
	return Item{Value: append(value, make([]byte, 8)...), Bucket: true} // and its sequence, which no walk uses
}

// leaf reads a leaf. A size of 0 is an inline bucket, whose data ends with its last item.
func leaf(id uint64, count int, data []byte, size int, low, high []byte, f func(Item) error) error {
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
		it := Item{data[at : at+key : at+key], data[at+key : at+key+value : at+key+value], flags == bucketItem}
		if i == 0 && low != nil && bytes.Compare(it.Key, low) < 0 || i > 0 && bytes.Compare(it.Key, last) <= 0 ||
			high != nil && bytes.Compare(it.Key, high) >= 0 {
			return fmt.Errorf("page %d has item %d out of order", id, i)
		}
		if err := f(it); err != nil {
			return err
		}
		last = it.Key
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
