package bolt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"slices"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
	"github.com/thinkd/thinkd/session/tool"
)

// rowKey names a session in the file: its owner, and its id. All that is kept of a session is under keys that begin with this one or
// have it behind a letter, so a session can only be reached by its owner.
//
//	the operator's  ID
//	all others      0x01, length of tenant, tenant, length of user, user, ID     (lengths as uvarints)
//
// No two sessions have the same key: an operator's id that begins with 0x01 is written like the others. Keys of the operator's
// sessions are those of format 4, which knew no owners.
type rowKey string

// ownedBy is the first byte of a key with the names of an owner. Ids begin with a digit, and numbers below 2^56 with a zero byte.
const ownedBy = 0x01

// ownerKey is what the keys of an owner begin with.
func ownerKey(o session.Owner) []byte {
	if o == session.Operator {
		return nil
	}
	return appendOwner(nil, o)
}

func appendOwner(key []byte, o session.Owner) []byte {
	key = append(key, ownedBy)
	for _, name := range []string{o.Tenant, o.User} {
		key = append(binary.AppendUvarint(key, uint64(len(name))), name...)
	}
	return key
}

// owned makes the key of a word of an owner: the id of a session, or that of a stamp.
func owned(o session.Owner, word string) string {
	if o == session.Operator && (word == "" || word[0] != ownedBy) {
		return word
	}
	return string(append(appendOwner(nil, o), word...))
}

func keyOf(ref session.Ref) rowKey { return rowKey(owned(ref.Owner, string(ref.ID))) }

// splitOwner takes the owner off a key. A key that is damaged is an error.
func splitOwner(key string) (o session.Owner, word string, err error) {
	if key == "" || key[0] != ownedBy {
		return session.Operator, key, nil
	}
	rest := []byte(key[1:])
	for _, name := range []*string{&o.Tenant, &o.User} {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return session.Owner{}, "", fmt.Errorf("%w: a key has no owner", session.ErrDamaged)
		}
		*name, rest = string(rest[n:n+int(length)]), rest[n+int(length):]
	}
	return o, string(rest), nil
}

// ref is the session that a key names. A key that is damaged is returned as an id of the operator.
func (k rowKey) ref() session.Ref {
	o, id, err := splitOwner(string(k))
	if err != nil {
		return session.Ref{ID: session.ID(k)}
	}
	return session.Ref{Owner: o, ID: session.ID(id)}
}

func (k rowKey) String() string { return k.ref().String() }

// of is the key of another session of the same owner.
func (k rowKey) of(id session.ID) rowKey {
	return keyOf(session.Ref{Owner: k.ref().Owner, ID: id})
}

// The files of a store, all in the data directory.
const (
	fileName = "thinkd.db"
	lockName = "thinkd.lock"
	markName = "thinkd.mark" // holds the store's id: a store existed here, so an empty or missing file is a loss
)

// formatVersion counts the layouts of the file. An older build refuses a newer one, and Open upgrades an older one. 1 had no
// bucket made, 2 no bucket forks. 3 had no bucket fixed: records were whole, and the index had the times of changes in
// place of their numbers. 4 had no owners: all sessions were the operator's, whose keys are the same in 5.
const formatVersion = 5

// fixedFormat is the first format with records in two parts.
const fixedFormat = 4

var (
	metaBucket     = []byte("meta")
	sessionBucket  = []byte("sessions")
	fixedBucket    = []byte("fixed")
	indexBucket    = []byte("index")
	openBucket     = []byte("open")
	creationBucket = []byte("made")
	forkBucket     = []byte("forks")
	logBucket      = []byte("log")
	growthBucket   = []byte("growth")
	ledgerBucket   = []byte("ledger")

	formatKey = []byte("format")
	storeKey  = []byte("store")
	roomKey   = []byte("room")
	epochKey  = []byte("epoch") // the first that no claim has; missing: 0

	deletedKey = []byte("deleted") // something was deleted since the file was rewritten; see compact.go
)

func allBuckets() [][]byte {
	return [][]byte{metaBucket, sessionBucket, fixedBucket, indexBucket, openBucket, creationBucket, forkBucket, logBucket, growthBucket, ledgerBucket}
}

// record is the changing part of a session's record as it is stored, with the position of its last entry (a log that lost
// its end shows) and the number of its last change, which is its key in the index.
type record struct {
	key rowKey
	session.Session
	last, change uint64
}

// fixed is the part of a record that never changes. It may have megabytes, and a record is written with each commit.
type fixed struct {
	System string         `json:"system_prompt,omitempty"`
	Tools  []tool.Tool    `json:"tools,omitempty"`
	Rules  tool.Policy    `json:"tool_policy,omitzero"`
	Shared []session.Span `json:"shared,omitempty"`

	Instructions session.Instructions `json:"project_instructions,omitzero"`
}

func fixedOf(s session.Session) fixed {
	return fixed{s.System, s.Tools, s.Rules, s.Shared, s.Instructions}
}

func (f fixed) join(s session.Session) session.Session {
	s.System, s.Tools, s.Rules, s.Shared, s.Instructions = f.System, f.Tools, f.Rules, f.Shared, f.Instructions
	return s
}

func (f fixed) encode(key rowKey) ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return seal([]byte(key), data), nil
}

// readRecord reads a record; numbered: it has the number of its last change, as from format 4 on.
func readRecord(key rowKey, value []byte, numbered bool) (record, error) {
	last, data, err := openRecord([]byte(key), value)
	if err != nil {
		return record{}, err
	}
	r := record{key: key, last: last}
	if numbered {
		if len(data) < 8 {
			return record{}, fmt.Errorf("%w: record is cut off", session.ErrDamaged)
		}
		r.change, data = binary.BigEndian.Uint64(data), data[8:]
	}
	if err := json.Unmarshal(data, &r.Session); err != nil {
		return record{}, fmt.Errorf("%w: record: %w", session.ErrDamaged, err)
	}
	return r, nil
}

// openRecord checks a record and is what follows the position of its last entry, part of value.
func openRecord(key, value []byte) (last uint64, data []byte, err error) {
	data, err = unseal(key, value)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: record: %w", session.ErrDamaged, err)
	}
	if len(data) < 8 {
		return 0, nil, fmt.Errorf("%w: record is cut off", session.ErrDamaged)
	}
	return binary.BigEndian.Uint64(data), data[8:], nil
}

func (r record) encode() ([]byte, error) {
	data, err := json.Marshal(r.Changing())
	if err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint64(position(r.last), r.change)
	return seal([]byte(r.key), append(head, data...)), nil
}

// indexKey sorts by owner, and then by the number of a change.
func indexKey(change uint64, key rowKey) []byte {
	ref := key.ref()
	return append(numberKey(ownerKey(ref.Owner), change), ref.ID...)
}

// numberKey is a number behind something, and sorts by it. Numbers are below 2^56: they begin with a zero byte, and the names of an
// owner do not.
func numberKey(before []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(slices.Clone(before), min(n, maxNumber))
}

const maxNumber = 1 << 56

// readNumber is the number in a key of numberKey, and what is behind it; ok is false if the key is another one.
func readNumber(before, key []byte) (n uint64, rest []byte, ok bool) {
	number, ok := bytes.CutPrefix(key, before)
	if !ok || len(number) < 8 || number[0] != 0 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(number), number[8:], true
}

func position(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// entryKey names an entry in all the store: its position alone would fit an entry of another session.
func entryKey(key rowKey, at uint64) []byte { return append([]byte(key), position(at)...) }

func shareKey(of, fork rowKey) []byte { return append(sharesOf(of), fork...) }

// The bucket forks has a key for each log that a fork shares: the session that the log is of, and the fork. The log of a
// session that was deleted stays while there is one; its length is under a key of its own then.
const (
	forkShare = 'f'
	forkGone  = 'g'
)

func sharesOf(of rowKey) []byte { return append([]byte{forkShare}, of...) }

func goneKey(key rowKey) []byte { return append([]byte{forkGone}, key...) }

// readGone reads the key of a log without its session.
func readGone(it page.Item) (key rowKey, last uint64, ok bool) {
	if len(it.Key) == 0 || it.Key[0] != forkGone {
		return "", 0, false
	}
	value, err := unseal(it.Key, it.Value)
	if err != nil || len(value) != 8 {
		return "", 0, false
	}
	return rowKey(it.Key[1:]), binary.BigEndian.Uint64(value), true
}

// The bucket made has two keys for each stamp of an owner: the stamp's id has the Creation, and the place in the owner's
// order of creations has the id, so that the oldest is found.
const (
	creationByStamp = 's'
	creationByPlace = 't'
)

func stampKey(o session.Owner, stamp string) []byte {
	return append([]byte{creationByStamp}, owned(o, stamp)...)
}

func placesOf(o session.Owner) []byte { return append([]byte{creationByPlace}, ownerKey(o)...) }

// piece is growth on its way to the file.
type piece struct {
	key  rowKey
	ref  session.BlockRef
	from int
	text string
}

// offsetSize is the length of the offset at the end of the key of a piece.
const offsetSize = 8

func pieceKey(of rowKey, key []byte) []byte { return slices.Concat([]byte(of), key) }

func readPiece(of rowKey, key, sealed []byte) (ref session.BlockRef, from int, text string, err error) {
	value, err := unseal(pieceKey(of, key), sealed)
	if err != nil {
		return ref, 0, "", fmt.Errorf("%w: checkpoint: %w", session.ErrDamaged, err)
	}
	if len(key) < offsetSize {
		return ref, 0, "", fmt.Errorf("%w: checkpoint: its key is short", session.ErrDamaged)
	}
	head, rest, _ := bytes.Cut(value, []byte{'\n'})
	if err := json.Unmarshal(head, &ref); err != nil {
		return ref, 0, "", fmt.Errorf("%w: checkpoint: %w", session.ErrDamaged, err)
	}
	return ref, int(binary.BigEndian.Uint64(key[len(key)-offsetSize:])), string(rest), nil
}

// checksum is made with a table that comes with its first use.
func checksum(key, value []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// seal puts a checksum of key and value before the value.
func seal(key, value []byte) []byte {
	sum := checksum(key, value)
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(value)), sum), value...)
}

// unseal is the value, part of what was given.
func unseal(key, sealed []byte) ([]byte, error) {
	if len(sealed) < 4 {
		return nil, fmt.Errorf("checksum is missing")
	}
	value := sealed[4:]
	if binary.BigEndian.Uint32(sealed) != checksum(key, value) {
		return nil, fmt.Errorf("checksum is wrong")
	}
	return value, nil
}

// damagedFile says what is wrong and what to do.
func damagedFile(why error) error {
	return fmt.Errorf("%w: %s: %w; it is left as it is: restore a copy of it, or move it and %s away to start without sessions",
		session.ErrDamaged, fileName, why, markName)
}

// panicked is a panic of bbolt's as an error: it meets damage with one, and a page that cannot be read is a fault.
type panicked struct{ reason any }

func (p *panicked) Error() string { return fmt.Sprintf("%v: %v", session.ErrDamaged, p.reason) }

func (p *panicked) Unwrap() error { return session.ErrDamaged }

// guard calls f, which reads mapped pages, and makes an error of a panic or a fault.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = &panicked{reason}
		}
	}()
	return f()
}
