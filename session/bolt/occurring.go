package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session/bolt/page"
)

// Occurring tells which blobs' names occur in the file's pages that are not free. A damaged log cannot be walked, but a name
// that can still be read is there in plain text, in one piece: bbolt puts a value into pages that follow each other. So this
// finds each reference, and a few names that nothing refers to any more.
//
// The read transaction keeps the pages of the newest commit, and of those that come meanwhile, from being used again.
func (b *Store) Occurring(ctx context.Context, names []string) (map[string]bool, error) {
	wanted, found := make(map[string]bool), make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	err := b.view(func(*bbolt.Tx) error {
		info, err := b.file.Stat()
		if err != nil {
			return err
		}
		p, err := page.Open(b.file, info.Size())
		if err != nil {
			return damagedFile(err)
		}
		list, err := p.Free(p.NewUse())
		if err != nil {
			return damagedFile(err)
		}
		free := p.NewUse()
		for _, id := range list {
			if err := free.Take(id, 1); err != nil {
				return damagedFile(err)
			}
		}
		scan := hexScan{wanted: wanted, found: found}
		page := make([]byte, p.PageSize())
		for id := uint64(2); id < p.Head.Count; id++ {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if free.Has(id) {
				scan.run = scan.run[:0]
				continue
			}
			if err := p.Raw(id, page); err != nil {
				return err
			}
			scan.read(page)
		}
		return nil
	})
	return found, err
}

// hashLength is the length of a blob's name.
const hashLength = 64

// hexScan looks for names in a stream of bytes.
type hexScan struct {
	wanted, found map[string]bool
	run           []byte // the last characters, of those that names have; at most hashLength
}

func (s *hexScan) read(data []byte) {
	for _, c := range data {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			s.run = s.run[:0]
			continue
		}
		if len(s.run) == hashLength {
			s.run = append(s.run[:0], s.run[1:]...)
		}
		if s.run = append(s.run, c); len(s.run) == hashLength && s.wanted[string(s.run)] {
			s.found[string(s.run)] = true
		}
	}
}
