package vault

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/provider/durable"
)

// Value is a [durable.Value] whose text is encrypted. [Seal] makes one.
type Value struct {
	durable.Value
	name    string // of the value; the text is bound to it
	masters Masters
	data    [keyBytes]byte
	wrapped []byte // data, by the first of masters
}

// sealed is what is stored. A reader of plain text finds neither its members nor its version.
type sealed struct {
	Vault  int    `json:"vault"`      // the version of this form
	Master string `json:"master_key"` // which one has wrapped Key
	Key    []byte `json:"data_key"`   // wrapped
	Text   []byte `json:"text"`
}

const version = 1

// What the parts are bound to, in addition to the name of the value.
const (
	forKey  = "thinkd data key 1\x00"
	forText = "thinkd text 1\x00"
)

// readSealed reads what is stored; ok is false if it is plain text.
func readSealed(text []byte) (s sealed, ok bool) {
	return s, json.Unmarshal(text, &s) == nil && s.Vault != 0
}

// Sealed reports whether a stored text is encrypted.
func Sealed(text []byte) bool {
	_, ok := readSealed(text)
	return ok
}

// Seal encrypts what v keeps, under a name that the text is bound to. If v has plain text, or if its text is not encrypted with
// the first of masters, it is written again: rotated says so. Errors do not quote what is stored.
func Seal(v durable.Value, name string, masters Masters) (s *Value, rotated bool, err error) {
	s = &Value{Value: v, name: name, masters: masters}
	text, err := v.Get()
	if err != nil {
		return nil, false, err
	}
	stored, ok := readSealed(text)
	if ok {
		var first bool
		if text, first, err = s.open(stored); err != nil {
			return nil, false, fmt.Errorf("%s: %w", v.Name(), err)
		}
		if first {
			return s, false, nil
		}
	}
	rand.Read(s.data[:]) // never fails
	if s.wrapped, err = encrypt(masters.keys[0], forKey+name, s.data[:]); err != nil {
		return nil, false, err
	}
	if text == nil {
		return s, false, nil
	}
	return s, true, s.Put(text)
}

// open decrypts what is stored. first says that the first master key has wrapped its data key, which is the value's from now on.
func (v *Value) open(stored sealed) (text []byte, first bool, err error) {
	if stored.Vault != version {
		return nil, false, fmt.Errorf("it has version %d of encryption, and this build knows version %d", stored.Vault, version)
	}
	for i, master := range v.masters.keys {
		if mark(master) != stored.Master {
			continue
		}
		raw, err := decrypt(master, forKey+v.name, stored.Key)
		if err != nil || len(raw) != keyBytes {
			return nil, false, fmt.Errorf("its data key cannot be decrypted: %w", errChanged)
		}
		data := [keyBytes]byte(raw)
		if text, err = decrypt(data, forText+v.name, stored.Text); err != nil {
			return nil, false, fmt.Errorf("it cannot be decrypted: %w", err)
		}
		if i == 0 {
			v.data, v.wrapped = data, stored.Key
		}
		return text, i == 0, nil
	}
	if v.masters.None() {
		return nil, false, errors.New("it is encrypted: set key_file or key_command under [auth] in the config")
	}
	return nil, false, fmt.Errorf("it is encrypted with the master key %s, which is not in %s. Add that key as a further line, or remove what is stored and give the keys again",
		stored.Master, v.masters)
}

// Read returns the text of a value, encrypted or not, and writes nothing; nil: there is none.
func Read(v durable.Value, name string, masters Masters) ([]byte, error) {
	text, err := v.Get()
	if stored, ok := readSealed(text); ok && err == nil {
		if text, _, err = (&Value{name: name, masters: masters}).open(stored); err != nil {
			err = fmt.Errorf("%s: %w", v.Name(), err)
		}
	}
	return text, err
}

// Get decrypts the text.
func (v *Value) Get() ([]byte, error) {
	text, err := v.Value.Get()
	if err != nil || text == nil {
		return nil, err
	}
	stored, ok := readSealed(text)
	if !ok {
		return nil, fmt.Errorf("%s is not encrypted any more", v.Name())
	}
	text, _, err = (&Value{name: v.name, masters: v.masters}).open(stored)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Name(), err)
	}
	return text, nil
}

// Put encrypts the text and stores it.
func (v *Value) Put(text []byte) error {
	ciphertext, err := encrypt(v.data, forText+v.name, text)
	if err != nil {
		return err
	}
	stored, err := json.MarshalIndent(sealed{version, mark(v.masters.keys[0]), v.wrapped, ciphertext}, "", "  ")
	if err != nil {
		return err
	}
	return v.Value.Put(append(stored, '\n'))
}
